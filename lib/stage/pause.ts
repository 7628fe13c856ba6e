import { type PauseRecord, readPause, writePause } from '../runtime/telemetry/pauses.ts';
import { actorOf } from './actor.ts';
import type { Audit } from './audit.ts';
import { RefusedError, UsageError } from './command-errors.ts';
import {
  type EventSourceMapping,
  type EventSourceMappings,
  eventSourceMappings,
} from './event-source-mapping.ts';
import { unknownName } from './nearest.ts';
import { pollDelay } from './poll-delay.ts';
import type { Target } from './target.ts';

/** A function that gets no messages from its queue, whose record says so, or that does not get all of them. */
export type PausedFunction = {
  function: string;
  /** Of its event-source mapping, such as `Disabled`; undefined: it cannot be read. */
  state: string | undefined;
  /** Without a record: when AWS last changed the mapping. */
  sinceMs: number | undefined;
  /** Undefined: there is no record, because `sis-relay` did not change the mapping. */
  who: string | undefined;
  reason: string | undefined;
  /** Its event-source mapping deletes messages that do not match a filter. */
  isFiltered?: true;
};

/** Other states come and go with a deployment. */
export const isStopped = (state: string | undefined): boolean =>
  state === 'Disabled' || state === 'Disabling';

/** The functions that are paused; undefined: unknown. */
export const pausedFunctions = async (
  target: Target,
  functions: readonly string[],
): Promise<PausedFunction[] | undefined> => {
  if (functions.length === 0) return [];
  const mappings = await eventSourceMappings(target).catch(() => undefined);
  const all = await Promise.all(
    functions.map(async (name) => {
      // One of the two may be readable if the other is not.
      const [mapping, record] = await Promise.all([
        mappings?.of(name).catch(() => undefined),
        recordOf(target, name).catch(() => undefined),
      ]);
      return { name, mapping, record };
    }),
  );
  if (all.every(({ mapping, record }) => mapping === undefined && record === undefined)) return undefined;
  return all.flatMap(({ name, mapping, record }) =>
    record || isStopped(mapping?.state) || mapping?.isFiltered ? [pausedOf(name, mapping, record)] : [],
  );
};

const pausedOf = (
  name: string,
  mapping: EventSourceMapping | undefined,
  record: PauseRecord | undefined,
): PausedFunction => ({
  function: name,
  state: mapping?.state,
  sinceMs: record?.sinceMs ?? mapping?.changedMs,
  who: record?.who,
  reason: record?.reason,
  ...(mapping?.isFiltered && { isFiltered: true as const }),
});

export type PauseRequest = {
  functions: string[];
  /** All functions that can be paused. */
  known: readonly string[];
  reason: string | undefined;
  audit: Audit;
  signal: AbortSignal;
  /** Maximum time to wait until AWS has made the change. */
  patienceMs?: number;
};

/** Includes the record of a pause that is made, found or ended, if there is one. */
export type PauseChange = Partial<PauseRecord> & {
  function: string;
  /** The state of its event-source mapping when it was first read, and when it was last read. */
  was: string;
  state: string;
  /** AWS has made the change. */
  done: boolean;
};

/** AWS takes up to a minute. */
const usualPatienceMs = 180_000;

/** Stops the deliveries to these functions; their messages stay on their queues. @throws UsageError, RefusedError */
export const pauseFunctions = (target: Target, request: PauseRequest): Promise<PauseChange[]> =>
  change(target, request, { command: 'pause', wanted: 'Disabled' });

/** Starts the deliveries again. @throws UsageError, RefusedError */
export const resumeFunctions = (target: Target, request: PauseRequest): Promise<PauseChange[]> =>
  change(target, request, { command: 'resume', wanted: 'Enabled' });

type DeliveryCommand = { command: 'pause' | 'resume'; wanted: 'Disabled' | 'Enabled' };

const change = async (
  target: Target,
  request: PauseRequest,
  verb: DeliveryCommand,
): Promise<PauseChange[]> => {
  const { reason, audit, signal, patienceMs = usualPatienceMs } = request;
  const names = checkedNames(request);
  const mappings = await eventSourceMappings(target);
  const found = await Promise.all(
    names.map(async (name) => ({
      name,
      mapping: await mappingOf(mappings, name, target),
      record: await recordOf(target, name),
    })),
  );
  const isPause = verb.command === 'pause';
  const isRight = ({ mapping, record }: (typeof found)[number]): boolean =>
    mapping.state === verb.wanted && (target.ledgerTable === undefined || (record !== undefined) === isPause);
  const others = found.filter((each) => !isRight(each)).map(({ name }) => name);
  const entry = { command: verb.command, reason, filter: { function: others } };
  const audited = others.length > 0 ? await audit.begin(entry) : undefined;
  const made: PauseRecord = { sinceMs: Date.now(), who: await actorOf(target), reason: reason ?? '' };
  const changes = await Promise.all(
    found.map(async ({ name, mapping, record }): Promise<PauseChange> => {
      const was = mapping.state;
      // If somebody ended a pause on AWS, an old record may be left.
      const pauseRecord = isPause && (record === undefined || was === 'Enabled') ? made : record;
      // Written before the change and removed after it: a paused function always has a record of who paused it and why.
      if (isPause && pauseRecord === made) await writeRecord(target, name, made);
      const look = () => mappingOf(mappings, name, target);
      const { state } = await brought(mapping, { look, mappings, wanted: verb.wanted, signal, patienceMs });
      const done = state === verb.wanted;
      if (!isPause && done && record) await writeRecord(target, name, undefined);
      return { function: name, was, state, done, ...pauseRecord };
    }),
  );
  const done = changes.filter((each) => each.done && others.includes(each.function)).length;
  await audited?.end({ done, notYet: changes.filter((each) => !each.done).length });
  return changes;
};

const checkedNames = ({ functions, known }: PauseRequest): string[] => {
  const unknown = functions.filter((name) => !known.includes(name));
  if (unknown.length === 0) return [...new Set(functions)];
  throw new UsageError(
    unknown.map((name) => unknownName('function with a queue named', name, known)).join('\n'),
  );
};

const mappingOf = async (
  mappings: EventSourceMappings,
  name: string,
  { prefix }: Target,
): Promise<EventSourceMapping> => {
  const mapping = await mappings.of(name);
  if (mapping !== undefined) return mapping;
  throw new RefusedError(
    `The function ${prefix}${name} has no event-source mapping in this account and region. Check the stage, the region and the profile.`,
  );
};

type MappingTarget = {
  look(): Promise<EventSourceMapping>;
  mappings: EventSourceMappings;
  wanted: DeliveryCommand['wanted'];
  signal: AbortSignal;
  patienceMs: number;
};

/** The last state of the mapping: as wanted, or the state when the time was up. */
const brought = async (first: EventSourceMapping, options: MappingTarget): Promise<EventSourceMapping> => {
  const { look, mappings, wanted, signal, patienceMs } = options;
  const endMs = performance.now() + patienceMs;
  const opposite = wanted === 'Enabled' ? 'Disabled' : 'Enabled';
  let mapping = first;
  for (let looks = 1; ; looks += 1) {
    if (mapping.state === wanted || signal.aborted || performance.now() > endMs) return mapping;
    // In a state between the two, another change is in progress, and AWS accepts no new one.
    if (mapping.state === opposite) await mappings.change(mapping, wanted === 'Enabled');
    await pollDelay(looks, signal);
    mapping = await look();
  }
};

const accessOf = ({ dynamodb, ledgerTable: table }: Target) =>
  table === undefined ? undefined : { dynamodb, table, nowMs: Date.now };

const recordOf = async (target: Target, name: string): Promise<PauseRecord | undefined> => {
  const access = accessOf(target);
  return access && readPause(access, name);
};

const writeRecord = async (target: Target, name: string, record: PauseRecord | undefined): Promise<void> => {
  const access = accessOf(target);
  if (access) await writePause(access, name, record);
};
