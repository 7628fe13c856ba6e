import * as z from 'zod';
import type { Failure, Outcome } from '../../message/failure.ts';
import { safe, type Warn } from '../../message/safe-text.ts';
import { errorName } from '../aws/error.ts';
import { type ItemTable, readItem, updateItem, writeInReserve } from '../aws/table-items.ts';
import type { CallReport } from './call-report.ts';

/**
 * The platform refuses changes that the service's credential signs, in every function. It may still answer reads, so that no probe finds
 * it. What single messages wait for is in their records.
 */
export type Incident = z.infer<typeof incidentSchema>;

const incidentSchema = z.object({
  kind: z.string(),
  /** The first and the last time it was met, without a pause that is longer than messages wait. */
  sinceMs: z.number(),
  lastMs: z.number(),
  /** The function that met it last. */
  function: z.string(),
  message: z.string(),
  remedy: z.string(),
});

const key = 'incident/service-credential';

/** @throws if the table cannot be read. */
export const readIncident = async (access: ItemTable): Promise<Incident | undefined> => {
  const item = await readItem(access, key);
  return item && incidentSchema.parse(item);
};

/** The parts of an attempt's outcome that matter for incidents. */
export type AttemptFacts = {
  outcome: Outcome;
  failure: Failure | undefined;
  calls: readonly CallReport[];
  /** Whether the service's own credential signs. */
  asService: boolean;
  /** It was received or replayed before, so something has delayed it. */
  again: boolean;
};

export type IncidentOptions = ItemTable & {
  function: string;
  /** Longest wait of a message between two attempts, in seconds. */
  maximumWaitSeconds: number;
  warn: Warn;
};

/** A container writes the same at most once in this time, in milliseconds. */
const restMs = 60_000;
const hourSeconds = 3_600;

/**
 * Records that the service's credential is refused for changes, so that others can see it. Without an incident, nothing is read or
 * written. It expires if no message has met it for longer than messages wait, as every waiting message meets it again. It ends earlier
 * when a change succeeds, in a container that has met it or with a message that may have met it.
 */
export const createIncidents = ({ warn, maximumWaitSeconds, ...options }: IncidentOptions) => {
  const { nowMs } = options;
  const keptSeconds = Math.max(hourSeconds, 2 * maximumWaitSeconds);
  let news: Failure | 'over' | undefined;
  let written: { isOver: boolean; atMs: number } | undefined;

  const note = (what: Failure | 'over'): void => {
    const isNew = written?.isOver !== (what === 'over') || nowMs() - written.atMs >= restMs;
    news = isNew ? what : undefined;
  };

  const write = async (what: Failure | 'over', abortSignal: AbortSignal): Promise<void> => {
    const now = nowMs();
    const access = { ...options, abortSignal };
    if (what === 'over') {
      await updateItem(access, key, { set: { expires: Math.floor(now / 1000) }, onlyOpen: true });
      return;
    }
    const { kind, message, remedy } = what;
    const expires = Math.ceil(now / 1000) + keptSeconds;
    const facts = { kind, message, remedy, function: options.function, lastMs: now, expires };
    if (!(await updateItem(access, key, { set: facts, onlyOpen: true })))
      await updateItem(access, key, { set: { ...facts, sinceMs: now } });
  };

  const isOpen = (): boolean => written?.isOver === false;

  return {
    record: ({ outcome, failure, calls, asService, again }: AttemptFacts): void => {
      // Another user's credential says nothing about the service's.
      if (!asService) return;
      const { kind, operation } = failure ?? {};
      // Without a call: a container does not use a refused credential for a while.
      const isOfChanges = isChange(operation) || (operation === undefined && isOpen());
      if (failure && kind === 'credentials' && isOfChanges) note(failure);
      if (outcome === 'done' && calls.some(isTakenChange) && (again || isOpen())) note('over');
    },
    /** Call this at the end of an invocation: it writes the news. It never throws. */
    write: async (): Promise<void> => {
      const what = news;
      news = undefined;
      if (what === undefined) return;
      written = { isOver: what === 'over', atMs: nowMs() };
      await writeInReserve([
        {
          write: (late) => write(what, late),
          failed: (error) => warn(safe`an incident could not be written down`, { error: errorName(error) }),
        },
      ]);
    },
  };
};

export type Incidents = ReturnType<typeof createIncidents>;

/** `METHOD /path` of the call. */
const isChange = (call: string | undefined): boolean => call !== undefined && !call.startsWith('GET ');

const isTakenChange = ({ call, status = 0 }: CallReport): boolean =>
  isChange(call) && status >= 200 && status < 300;
