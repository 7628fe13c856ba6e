import type { IndexRecord, LetterIndexTable } from '../../../delivery/letters/record.ts';
import { attribute, undefinedIfConditionFails } from '../../../runtime/aws/dynamodb.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import { hideAll } from '../../../runtime/aws/sqs.ts';
import type { Audit } from '../../../stage/audit.ts';
import type { Target } from '../../../stage/target.ts';
import type { Filter } from '../letters/filter.ts';
import { letterIndexOf } from '../letters/list.ts';
import { findWaiting, nextOf, type WaitingGroup, waitingGroups } from './waiting.ts';

export type WakePlan = {
  groups: WaitingGroup[];
  /** Messages that their queues hide, and that would become visible at once. */
  messages: number;
  /** Messages that match and are already due: nothing needs to be done. */
  due: number;
};

export type Woken = {
  plan: WakePlan;
  woken: number;
  /** Messages that their functions have received already, or have ended. */
  taken: number;
  failed: { id: string; reason: string }[];
  /** Left alone, because the command was interrupted. */
  left: number;
};

type WakeOptions = {
  filter: Filter;
  limit?: number | undefined;
  reason?: string | undefined;
  dryRun: boolean;
  signal: AbortSignal;
  audit: Audit;
  confirm(plan: WakePlan): Promise<boolean>;
  onWoken?(woken: number, of: number): void;
};

/** After each chunk, the records are updated and an interruption takes effect. */
const chunkSize = 1_000;

/**
 * Makes waiting messages visible in their queues at once, so that their functions receive them. It only advances their next try: if
 * the command is killed, the rest come at their time.
 */
export const wakeMessages = async (
  target: Target,
  { filter, limit, reason, dryRun, signal, audit, confirm, onWoken }: WakeOptions,
): Promise<Woken> => {
  const records = await findWaiting(target, filter, signal);
  const nowMs = Date.now();
  const hidden = records.filter((each) => nextOf(each, nowMs) === 'later').slice(0, limit);
  const plan: WakePlan = {
    groups: waitingGroups(hidden, nowMs),
    messages: hidden.length,
    due: records.filter((each) => nextOf(each, nowMs) === 'due').length,
  };
  const result: Woken = { plan, woken: 0, taken: 0, failed: [], left: 0 };
  const confirmed = await confirm(plan);
  if (dryRun) return result;
  if (!confirmed || hidden.length === 0 || signal.aborted) return { ...result, left: hidden.length };

  const { end } = await audit.begin({
    command: 'waiting wake',
    filter,
    reason,
    counts: { planned: hidden.length },
    letters: hidden.map(({ message }) => message),
  });
  const letterIndex = letterIndexOf(target);
  const wokenIds: string[] = [];
  const wake = async (url: string | undefined, chunk: IndexRecord[]): Promise<void> => {
    const { woken, taken, failed } = await wakeChunk(target, url, chunk);
    await markWoken(letterIndex, woken);
    wokenIds.push(...woken.map(({ message }) => message));
    result.woken += woken.length;
    result.taken += taken;
    result.failed.push(...failed);
    onWoken?.(result.woken + result.taken, hidden.length);
  };
  try {
    for (const [name, each] of Map.groupBy(hidden, ({ function: named }) => named)) {
      const url = await target.queueUrlOf(name);
      for (let from = 0; from < each.length && !signal.aborted; from += chunkSize)
        await wake(url, each.slice(from, from + chunkSize));
    }
    result.left = hidden.length - result.woken - result.taken - result.failed.length;
    return result;
  } finally {
    const { woken, taken, failed } = result;
    await end({ woken, taken, failed: failed.length }, wokenIds);
  }
};

/** SQS' error names for a receipt handle that no longer works: the message became visible since, or was deleted. */
const noLongerValid = /MessageNotInflight|ReceiptHandleIsInvalid|InvalidParameterValue/;

const wakeChunk = async (
  target: Target,
  url: string | undefined,
  chunk: IndexRecord[],
): Promise<{ woken: IndexRecord[]; taken: number; failed: Woken['failed'] }> => {
  if (url === undefined)
    return {
      woken: [],
      taken: 0,
      failed: chunk.map(({ message: id }) => ({ id, reason: 'it has no queue' })),
    };
  const handles = chunk.map(({ handle = '' }) => handle);
  const failures = await hideAll({ sqs: await target.sqs(), url }, handles, 0);
  const woken = chunk.filter((_, at) => !failures.has(at));
  const failed = [...failures].flatMap(([at, reason]) =>
    noLongerValid.test(reason) ? [] : { id: chunk[at]?.message ?? '', reason },
  );
  return { woken, taken: chunk.length - woken.length - failed.length, failed };
};

/** Updates the list to show that they are due. A record that the function has changed since is left alone. */
const markWoken = ({ dynamodb, table, nowMs }: LetterIndexTable, records: IndexRecord[]): Promise<void> =>
  inParallel(records, async ({ message, handle = '' }) => {
    const input = {
      TableName: table,
      Key: { message: { S: message } },
      UpdateExpression: 'SET #nextMs = :now',
      ConditionExpression: '#handle = :handle',
      ExpressionAttributeNames: { '#nextMs': 'nextMs', '#handle': 'handle' },
      ExpressionAttributeValues: { ':now': attribute(nowMs()), ':handle': attribute(handle) },
    };
    // A failure is ignored: the message is visible already.
    await undefinedIfConditionFails(() => dynamodb.call('UpdateItem', input)).catch(() => {});
  });
