import type { SQSClient } from '@aws-sdk/client-sqs';
import { problemsText } from '../../../message/failure.ts';
import { bulkAttributes } from '../../../message/message.ts';
import type { OutgoingMessage } from '../../../message/sqs-limits.ts';
import { sendAll } from '../../../runtime/aws/sqs.ts';
import type { Audit } from '../../../stage/audit.ts';
import { awsTimeMs } from '../../../stage/aws-time.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import { fileOf } from '../../../stage/input.ts';
import type { Integrations } from '../../../stage/integrations.ts';
import type { Target } from '../../../stage/target.ts';
import { type CheckOptions, type CheckResult, checkedRows, checkRows } from './check.ts';
import { openRows, type Row, type Source } from './rows.ts';

type PublishOptions = Source & {
  integrations: Integrations;
  /** Checks every row and sends nothing. */
  dryRun: boolean;
  /** Sends the valid messages even if others are invalid. */
  validOnly: boolean;
  /** Marks the messages as part of a large load, which yields to others. */
  bulk: boolean;
  /** Makes the functions record the outcome of each message. */
  receipts?: boolean;
  audit: Audit;
  signal: AbortSignal;
  onSent?(sent: number, of: number): void;
};

export type PublishedMessage = { line: number; function: string; eventId: string; messageId: string };

export type PublishResult = CheckResult & {
  sent: number;
  /** What SQS accepted, in that order. */
  messages: PublishedMessage[];
  /** Messages that are invalid or that SQS refused: the first thousand. */
  problems: { line: number; problem: string }[];
};

const maxProblems = 1_000;

/** Sends a file's messages to their queues. If any is invalid, sends none, unless `validOnly` is set. */
export const publishMessages = async (target: Target, options: PublishOptions): Promise<PublishResult> => {
  const { dryRun, validOnly, audit, signal } = options;
  const rows = await openRows(options, options.integrations);
  const problems: PublishResult['problems'] = [];
  const nowMs = dryRun ? Date.now() : await awsTimeMs(target);
  const checking = checkingOf(options, nowMs);
  const checked = await checkRows(rows(nowMs), {
    ...checking,
    onProblems: (line, found) => complain(problems, line, problemsText(found)),
  });
  const result: PublishResult = { ...checked, sent: 0, messages: [], problems };
  const refused = result.invalid > 0 && !validOnly;
  if (signal.aborted || dryRun || refused || result.valid === 0) return result;

  const urls = await queuesOf(Object.keys(result.functions), target);
  const { end } = await audit.begin({
    command: 'publish',
    filter: { function: Object.keys(result.functions) },
    file: fileOf(options.input),
    counts: { valid: result.valid, invalid: result.invalid, ...result.functions },
  });
  try {
    await sendValid(rows(nowMs), { ...options, sqs: await target.sqs(), urls, checking, result });
  } finally {
    await end({ sent: result.sent, failed: result.valid - result.sent });
  }
  return result;
};

const complain = (problems: PublishResult['problems'], line: number, problem: string): void => {
  if (problems.length < maxProblems) problems.push({ line, problem });
};

const checkingOf = ({ integrations, signal, ...options }: PublishOptions, nowMs: number): CheckOptions => ({
  integrationOf: (name) => integrations.get(name),
  attributes: attributesOf(options),
  ifNoType: 'for data without an envelope, name its function',
  signal,
  nowMs,
});

type PublishContext = PublishOptions & {
  sqs: SQSClient;
  urls: Map<string, string>;
  checking: CheckOptions;
  result: PublishResult;
};

const sendValid = async (rows: AsyncIterable<Row>, sending: PublishContext): Promise<void> => {
  const { sqs, urls, result, signal, onSent } = sending;
  const attributes = attributesOf(sending);
  const waiting = new Map<string, { line: number; eventId: string; body: string }[]>();
  const send = async (name: string): Promise<void> => {
    const batch = waiting.get(name) ?? [];
    waiting.delete(name);
    const { failures, messageIds } = await sendAll(
      { sqs, url: urls.get(name) ?? '' },
      batch.map(({ body }) => ({ body, attributes })),
    );
    for (const [at, reason] of failures)
      complain(result.problems, batch[at]?.line ?? 0, `SQS refused it: ${reason}`);
    for (const [at, { line, eventId }] of batch.entries()) {
      const messageId = messageIds[at];
      if (messageId !== undefined) result.messages.push({ line, function: name, eventId, messageId });
    }
    result.sent += batch.length - failures.size;
    onSent?.(result.sent, result.valid);
  };
  for await (const { row, checked } of checkedRows(rows, sending.checking)) {
    if (checked === undefined || checked.problems !== undefined || row.body === undefined) continue;
    const batch = waiting.get(checked.function) ?? [];
    waiting.set(checked.function, batch);
    batch.push({ line: row.line, eventId: checked.eventId, body: row.body });
    if (batch.length >= 80) await send(checked.function);
  }
  if (!signal.aborted) for (const name of [...waiting.keys()]) await send(name);
};

const attributesOf = ({
  bulk,
  receipts = false,
}: Pick<PublishOptions, 'bulk' | 'receipts'>): OutgoingMessage['attributes'] => ({
  ...(bulk && bulkAttributes),
  ...(receipts && { receipt: { DataType: 'String', StringValue: 'yes' } }),
});

const queuesOf = async (names: string[], target: Target): Promise<Map<string, string>> => {
  const urls = new Map<string, string>();
  for (const name of names) {
    const url = await target.queueUrlOf(name);
    if (url === undefined)
      throw new RefusedError(
        `Nothing was sent, because there is no queue ${target.prefix}${name}. Check the stage, the region and the profile.`,
      );
    urls.set(name, url);
  }
  return urls;
};
