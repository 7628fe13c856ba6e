import { createHash } from 'node:crypto';
import { dispositions, type Failure, failureOf, MessageFailure, type Refusal } from '../failure.ts';
import type { Integration, IntegrationContext } from '../integration.ts';
import type { Claim, Ending, Entry, Ledger, SeenRival, Unresolved, Verdict } from '../ledger/ledger.ts';
import { identityOf, type Message, versionOf } from '../message.ts';
import type { CallReport } from '../platform/client.ts';
import { PlatformError } from '../platform/core/error.ts';
import type { Services } from './services.ts';

/** What the records of one invocation share. */
export type Batch = {
  /** When every attempt must have ended. */
  deadlineMs: number;
  /** Ends the calls of an attempt that begins now, when its time is over. */
  timeLimit(): AbortSignal;
  /** Claims that ended well, and that the ledger only remembers so far. */
  ended: Claim[];
};

/** One try at one message. */
export type Attempt = {
  world: Services;
  batch: Batch;
  /** Nothing else of the batch is under way. */
  isolated: boolean;
  /** SQS' id. */
  messageId: string;
  replays: number;
  /** When somebody who was asked to look for its effect replayed it; undefined: nobody was. */
  decidedMs: number | undefined;
  /** The calls of the platform that it has made. */
  calls: CallReport[];
  /** What its integration says of its success. */
  notes: string[];
  /** The files that it has opened: what was not read of them is let go of when it ends. */
  opened: AbortController[];
};

/** Where a message has got to. */
export type Progress = { state: 'done' | 'duplicate' | 'superseded' | 'isolate' } | Waiting | Failed;

export type Waiting = {
  state: 'waiting';
  /** At most, where it may be over earlier: then it is asked again soon, and later each time. */
  seconds: number;
  mayEndEarlier?: boolean;
  reason: string;
  /** Of the letter that it becomes where its turn never comes. */
  kind: 'unavailable' | 'uncertain';
};

export type Failed = {
  state: 'failed';
  error: unknown;
  /** It must not be sent twice and no answer came: to be looked up when the platform has had time to finish. */
  lookUpSeconds?: number;
  /**
   * Its claim stands on the ledger. A message that does not come back as soon as its queue would show it is taken for done: it
   * must not be hidden for longer, nor become a letter.
   */
  claimed?: true;
};

/** Why a message waits that did not fail. */
export const noTime = 'Too little time was left in this invocation: the next one takes it';
const reasons = {
  busy: 'What another attempt on the same resource has sent may still act: it waits for that to be over',
  newer: 'A newer message about the same resource has no outcome yet: only what was done supersedes',
} as const;

/** What cannot finish in the time left is not started. */
export const hasTime = ({ world, batch }: Pick<Attempt, 'world' | 'batch'>): boolean =>
  batch.deadlineMs - world.nowMs() >= world.limits.attemptTimeoutMs;

/** Asks the ledger what may still be done about a message, and does it; never throws. */
export const attempt = async <Data>(
  integration: Integration<Data>,
  message: Message<Data>,
  context: Attempt,
): Promise<Progress> => {
  const { ledger } = context.world;
  if (ledger !== undefined) return withLedger(ledger, { integration, message, context });
  try {
    const fields = fieldsOf(integration, message);
    await integration.run(message.data, worldOf({ integration, message, context }, fields));
    return { state: 'done' };
  } catch (error) {
    return { state: 'failed', error };
  }
};

type Task<Data> = { integration: Integration<Data>; message: Message<Data>; context: Attempt };

const withLedger = async <Data>(ledger: Ledger, task: Task<Data>): Promise<Progress> => {
  const { context } = task;
  let entry: Entry;
  try {
    entry = await entryOf(task);
  } catch (error) {
    return { state: 'failed', error };
  }
  let verdict: Verdict;
  try {
    verdict = await claimOf(ledger, entry, context);
    if (verdict.kind === 'wait' && verdict.rival && (await isSeen(entry, verdict.rival, task))) {
      ledger.seen(entry.resource, verdict.rival);
      verdict = await claimOf(ledger, entry, context);
    }
  } catch (error) {
    // Whether the claim was written is not known.
    return { state: 'failed', error, claimed: true };
  }
  if (verdict.kind === 'send') return send(ledger, { ...task, verdict });
  if (verdict.kind === 'wait') {
    const { why, seconds, rival } = verdict;
    return {
      state: 'waiting',
      seconds,
      mayEndEarlier: rival !== undefined,
      reason: reasons[why],
      kind: why === 'newer' ? 'uncertain' : 'unavailable',
    };
  }
  if (verdict.kind === 'crashed' || verdict.kind === 'outdated')
    return { state: 'failed', error: new MessageFailure(verdict.kind, whyParked[verdict.kind]) };
  return { state: verdict.kind };
};

const whyParked = {
  crashed: 'The function died three times while it handled this message',
  outdated: 'The message is older than what the ledger remembers: something newer may have been done since',
} as const;

const claimOf = (ledger: Ledger, entry: Entry, { world: { limits }, isolated }: Attempt): Promise<Verdict> =>
  // The time of the attempt begins when its claim is written, which may take as long as AWS is given.
  ledger.claim(entry, { leaseMs: limits.attemptTimeoutMs + limits.reserveMs, isolated });

const send = async <Data>(
  ledger: Ledger,
  task: Task<Data> & { verdict: Extract<Verdict, { kind: 'send' }> },
): Promise<Progress> => {
  const { integration, message, context, verdict } = task;
  const { claim, unresolved } = verdict;
  const { batch, calls } = context;
  if (!hasTime(context)) {
    if (await ledger.end(claim, 'undone'))
      return { state: 'waiting', seconds: 1, reason: noTime, kind: 'unavailable' };
    return { state: 'failed', error: new MessageFailure('unavailable', noTime), claimed: true };
  }
  const world = worldOf(task, claim.fields);
  try {
    const wasDone =
      unresolved !== undefined && (await lookUp(integration, message.data, { world, unresolved }));
    if (!wasDone) await integration.run(message.data, world);
  } catch (error) {
    const failure = failureOf(error);
    const told = await ledger.end(claim, endingOf(error, calls), refusalText(failure));
    // What a look has found to be uncertain is not looked up again.
    const unanswered = !(error instanceof MessageFailure) && failure.kind === 'uncertain';
    return {
      state: 'failed',
      error,
      ...(unanswered && integration.verify && { lookUpSeconds: Math.ceil(ledger.graceMs / 1000) + 1 }),
      ...(!told && { claimed: true }),
    };
  }
  await ledger.end(claim, 'done');
  batch.ended.push(claim);
  return { state: 'done' };
};

const endingOf = (error: unknown, calls: readonly CallReport[]): Ending => {
  if (error instanceof PlatformError && error.acceptedUnverified) return 'accepted-unverified';
  return calls.some((call) => call.mayHaveActed) ? 'unknown' : 'undone';
};

const maxRefusal = 600;

/** What the platform said, short enough for the ledger: it must outlive the attempt until a letter is written. */
const refusalText = (failure: Failure): string => {
  const { message, status, type, title, detail, required, operation, requestId } = failure;
  const texts = Object.entries({ message, type, title, required, requestId, detail });
  const cutTo = (length: number): string =>
    JSON.stringify({
      ...{ status, operation },
      ...Object.fromEntries(texts.map(([name, text]) => [name, text?.slice(0, length).toWellFormed()])),
    });
  // JSON may write a character in six.
  const fitting = [400, 300, 200, 150, 100, 60, 30].map(cutTo).find((text) => text.length <= maxRefusal);
  return fitting ?? cutTo(10);
};

/** Whether the attempt that left no outcome was done; throws `uncertain` where nobody can tell and nobody has decided. */
const lookUp = async <Data>(
  { verify }: Integration<Data>,
  data: Data,
  { world, unresolved }: { world: IntegrationContext; unresolved: Unresolved },
): Promise<boolean> => {
  const since = new Date(unresolved.sinceMs).toISOString();
  const subject = verify?.subject(data) ?? 'its effect';
  const { message: first, ...refusal } = refusalIn(unresolved);
  /** Whoever looks for a day in vain still tells what the platform said to what is looked for. */
  const withFirst = ({ kind, message, remedy, retryAfterSeconds }: Failure) =>
    new MessageFailure(kind, `${message}. An attempt since ${since} left no outcome (${first})`, {
      remedy: `${remedy} Whether ${subject} is there is looked up first.`,
      refusal: { ...refusal, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) },
    });
  let why = 'the platform does not tell';
  try {
    // Of what was taken, whatever is like it is its effect: the platform's clocks may differ.
    const sinceMs = unresolved.acceptedUnverified ? 0 : unresolved.sinceMs;
    const found = (await verify?.look?.(data, { ...world, sinceMs })) ?? 'unclear';
    if (found === 'found' || (unresolved.acceptedUnverified && found === 'unclear')) return true;
    if (found === 'absent' && !unresolved.acceptedUnverified) return false;
    if (verify?.look)
      why = unresolved.acceptedUnverified
        ? 'the platform answered with a success, and does not show it'
        : 'something is there that may be its effect';
  } catch (error) {
    const failure = failureOf(error);
    if (dispositions[failure.kind] === 'wait') throw first === undefined ? error : withFirst(failure);
    why = failure.message;
  }
  if (unresolved.decided) return false;
  const said = first === undefined ? '' : ` (${first})`;
  throw new MessageFailure('uncertain', `An attempt since ${since} left no outcome${said}: ${why}`, {
    remedy: `Look for ${subject} since ${since}. Replay only if there is none, else discard this letter.`,
    refusal,
  });
};

/** Of our own writing. */
const refusalIn = ({ refusal }: Unresolved): Refusal & { message?: string } =>
  refusal === undefined ? {} : JSON.parse(refusal);

/** So much earlier than the claim a change may be dated that it made: the platform's clock is known to a second. */
const clockGrainMs = 1_000;

/** Whether the platform shows all that a rival was to do, changed since it began. What cannot be read is not seen. */
const isSeen = async <Data>(entry: Entry, rival: SeenRival, task: Task<Data>): Promise<boolean> => {
  const { integration, message, context } = task;
  const world = worldOf(task, entry.fields);
  const shown = await integration.effect?.shown(message.data, world).catch(() => undefined);
  if (shown === undefined) return false;
  const changedMs = shown.changedMs - (world.platform.clockOffsetMs() ?? 0);
  if (!(changedMs >= rival.claimedMs - clockGrainMs)) return false;
  const digests = await digestsOf(entry.resource, shown.fields, context.world);
  return Object.entries(rival.digests).every(([field, digest]) => digests[field] === digest);
};

/** DynamoDB takes keys of up to 2,048 bytes; a message's source and id may be longer. */
const maxKey = 512;

/** The first word stays: by it the function's role is let at the resource. */
const shortened = (resource: string): string =>
  resource.length > maxKey
    ? `${resource.split('/')[0]}/${createHash('sha256').update(resource).digest('base64url')}`
    : resource;

/** A resource that is changed as a whole has one field. */
const wholeResource = ['whole'];

const fieldsOf = <Data>(integration: Integration<Data>, message: Message<Data>): readonly string[] =>
  integration.fields?.(message.data, message) ?? wholeResource;

const entryOf = async <Data>({ integration, message, context }: Task<Data>): Promise<Entry> => {
  const { world, messageId, replays, decidedMs } = context;
  const { repeatable: asked, effect } = integration;
  const repeatable = typeof asked === 'function' ? asked(message.data) : asked;
  const resource = shortened(integration.resource(message.data, message));
  return {
    resource,
    fields: fieldsOf(integration, message).map(shortened),
    version: repeatable ? versionOf(message, integration.name) : identityOf(message),
    timeMs: Date.parse(message.time),
    ...{ messageId, replays, decidedMs, repeatable },
    digests: effect ? await digestsOf(resource, effect.wanted(message.data), world) : {},
  };
};

const digestsOf = async (
  resource: string,
  fields: Record<string, string | undefined>,
  { digest }: Services,
): Promise<Record<string, string>> => {
  const all = await Promise.all(
    Object.entries(fields).map(async ([field, value]) => {
      const made = value === undefined ? undefined : await digest?.([resource, field, value]);
      return made === undefined ? [] : [[field, made] as const];
    }),
  );
  return Object.fromEntries(all.flat());
};

const worldOf = <Data>(
  { integration, message, context }: Task<Data>,
  fields: readonly string[],
): IntegrationContext => {
  const { world, batch, calls, notes, opened } = context;
  const signal = batch.timeLimit();
  return {
    platform: world.platform.for({
      actor: integration.actor?.(message.data),
      operations: integration.operations,
      signal,
      onCall: (call) => {
        calls.push(call);
        world.observe.call(call);
      },
    }),
    openFile: (uri, maximumBytes) => {
      const file = new AbortController();
      opened.push(file);
      return world.files.open(uri, { maximumBytes, signal: AbortSignal.any([signal, file.signal]) });
    },
    readSecret: world.readSecret,
    limits: world.limits,
    note: (text) => notes.push(text),
    fields,
  };
};
