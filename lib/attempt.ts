import { createHash } from 'node:crypto';
import { dispositions, failureOf, MessageFailure } from './failure.ts';
import type { Integration, World } from './integration.ts';
import type { Claim, Doubt, Entry } from './ledger.ts';
import { type Message, versionOf } from './message.ts';
import type { CallReport } from './platform/client.ts';
import { PlatformError } from './platform/error.ts';
import type { Services } from './services.ts';

/** What the records of one invocation share. */
export type Batch = {
  /** When every attempt must have ended. */
  deadlineMs: number;
  signal: AbortSignal;
  /** Claims that ended well, and that the ledger only remembers so far. */
  ended: Claim[];
};

/** One try at one message. */
export type Attempt = {
  world: Services;
  batch: Batch;
  /** Nothing else of the batch is under way. */
  alone: boolean;
  /** SQS' id. */
  messageId: string;
  replays: number;
  /** When somebody who was asked to look for its effect replayed it; undefined: nobody was. */
  decidedMs: number | undefined;
  /** The calls of the platform that it has made. */
  calls: CallReport[];
  /** The files that it has opened: what was not read of them is let go of when it ends. */
  opened: AbortController[];
};

/** Where a message has got to. */
export type Progress =
  | { state: 'done' | 'duplicate' | 'superseded' | 'alone' }
  /** Another attempt on the same thing is under way, or what it sent may still act. */
  | { state: 'waiting'; seconds: number; reason: string }
  /** It must not be sent twice and no answer came: to be looked up when the platform has had time to finish. */
  | { state: 'unanswered'; error: unknown; lookUpSeconds: number };

/** Why a message waits that did not fail. */
export const noTime = 'Too little time was left in this invocation: the next one takes it';
const busy = 'What another attempt on the same thing has sent may still act: it waits for that to be over';

/** What cannot finish in the time left is not started. */
export const hasTime = ({ world, batch }: Pick<Attempt, 'world' | 'batch'>): boolean =>
  batch.deadlineMs - world.nowMs() >= world.limits.attemptTimeoutMs;

/** Asks the ledger what may still be done about a message, and does it; throws what the message fails with. */
export const attempt = async <Data>(
  integration: Integration<Data>,
  message: Message<Data>,
  context: Attempt,
): Promise<Progress> => {
  const { world, batch, calls } = context;
  const { ledger } = world;
  const reach = reachOf(integration, message, context);
  if (ledger === undefined) {
    await integration.run(message.data, reach);
    return { state: 'done' };
  }
  const untilMs = batch.deadlineMs + world.limits.reserveMs;
  const verdict = await ledger.claim(entryOf(integration, message, context), {
    untilMs,
    alone: context.alone,
  });
  if (verdict.kind === 'wait') return { state: 'waiting', seconds: verdict.seconds, reason: busy };
  if (verdict.kind === 'crashed')
    throw new MessageFailure('crashed', 'The function died three times while it handled this message');
  if (verdict.kind !== 'send') return { state: verdict.kind };

  const { claim, doubt } = verdict;
  if (!hasTime(context)) {
    await ledger.end(claim, 'undone');
    return { state: 'waiting', seconds: 1, reason: noTime };
  }
  try {
    const wasDone = doubt !== undefined && (await lookUp(integration, message.data, { reach, doubt }));
    if (!wasDone) await integration.run(message.data, reach);
  } catch (error) {
    const ending = calls.some((call) => call.mayHaveActed) ? 'unknown' : 'undone';
    await ledger.end(claim, error instanceof PlatformError && error.taken ? 'taken' : ending);
    // What a look has found to be uncertain is not looked up again.
    const unanswered = !(error instanceof MessageFailure) && failureOf(error).kind === 'uncertain';
    if (!unanswered || !integration.verify) throw error;
    return { state: 'unanswered', error, lookUpSeconds: Math.ceil(ledger.settlingMs / 1000) + 1 };
  }
  await ledger.end(claim, 'done');
  batch.ended.push(claim);
  return { state: 'done' };
};

/** Whether the attempt that left no outcome was done; throws `uncertain` where nobody can tell and nobody has decided. */
const lookUp = async <Data>(
  { verify }: Integration<Data>,
  data: Data,
  { reach, doubt }: { reach: World; doubt: Doubt },
): Promise<boolean> => {
  const since = new Date(doubt.sinceMs).toISOString();
  const subject = verify?.subject(data) ?? 'its effect';
  let why = 'the platform does not tell';
  try {
    // Of what was taken, whatever is like it is its effect: the platform's clocks may differ.
    const sinceMs = doubt.taken ? 0 : doubt.sinceMs;
    const found = (await verify?.look?.(data, { ...reach, sinceMs })) ?? 'unclear';
    if (found === 'found' || (doubt.taken && found === 'unclear')) return true;
    if (found === 'absent' && !doubt.taken) return false;
    if (verify?.look)
      why = doubt.taken
        ? 'the platform answered with a success, and does not show it'
        : 'something is there that may be its effect';
  } catch (error) {
    const failure = failureOf(error);
    if (dispositions[failure.kind] === 'wait') throw error;
    why = failure.message;
  }
  if (doubt.decided) return false;
  throw new MessageFailure('uncertain', `An attempt since ${since} left no outcome: ${why}`, {
    remedy: `Look for ${subject} since ${since}. Replay only if there is none, else discard this letter.`,
  });
};

/** DynamoDB takes keys of up to 2,048 bytes; a message's source and id may be longer. */
const longestKey = 512;

const entryOf = <Data>(integration: Integration<Data>, message: Message<Data>, context: Attempt): Entry => {
  const key = integration.key(message.data, message);
  const short = key.length > longestKey ? createHash('sha256').update(key).digest('base64url') : key;
  const { repeatable: asked } = integration;
  const repeatable = typeof asked === 'function' ? asked(message.data) : asked;
  return {
    thing: `${integration.name}#${short}`,
    version: repeatable ? versionOf(message) : `${message.source} ${message.id}`,
    messageId: context.messageId,
    replays: context.replays,
    decidedMs: context.decidedMs,
    repeatable,
  };
};

const reachOf = <Data>(
  integration: Integration<Data>,
  message: Message<Data>,
  { world, batch: { signal }, calls, opened }: Attempt,
): World => ({
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
});
