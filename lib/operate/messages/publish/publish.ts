import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Integration } from '../../../delivery/handle/integration.ts';
import { isTooOld } from '../../../delivery/ledger/rules.ts';
import { receiptAttribute } from '../../../delivery/letters/dead-letter.ts';
import { eventIn } from '../../../message/envelope.ts';
import { readJson } from '../../../message/json.ts';
import { bulkAttributes, draftOf } from '../../../message/message.ts';
import { maxMessageBytes, type Outgoing, sqsProblem } from '../../../message/sqs-limits.ts';
import { failureOf } from '../../../platform/client/failure-of.ts';
import { sendAll } from '../../../runtime/aws/sqs.ts';
import { problemsByColumn, problemsText } from '../../../sources/mapping/events.ts';
import type { Audit } from '../../stage/audit.ts';
import { RefusedError } from '../../stage/command-errors.ts';
import type { Integrations } from '../../stage/integrations.ts';
import type { Target } from '../../stage/target.ts';
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

export type Published = {
  valid: number;
  invalid: number;
  /** Rows that produce no message by the mapping. */
  skipped: number;
  sent: number;
  /** Number of valid messages by function. */
  functions: Record<string, number>;
  /** What SQS accepted, in that order. */
  messages: PublishedMessage[];
  /** Messages so old that they are sent only if the ledger still knows their resource. */
  outdated: number;
  /** Messages that are invalid or that SQS refused: the first thousand. */
  problems: { line: number; problem: string }[];
};

const maxProblems = 1_000;

/** Sends a file's messages to their queues. If any is invalid, sends none, unless `validOnly` is set. */
export const publishMessages = async (target: Target, options: PublishOptions): Promise<Published> => {
  const { dryRun, validOnly, audit, signal } = options;
  const rows = await openRows(options, options.integrations);
  const result = await checkAll(rows(), options);
  const refused = result.invalid > 0 && !validOnly;
  if (signal.aborted || dryRun || refused || result.valid === 0) return result;

  const urls = await queuesOf(Object.keys(result.functions), target);
  const { end } = await audit.begin({
    command: 'publish',
    counts: { valid: result.valid, invalid: result.invalid, ...result.functions },
  });
  try {
    await sendValid(rows(), { ...options, sqs: await target.sqs(), urls, result });
  } finally {
    await end({ sent: result.sent, failed: result.valid - result.sent });
  }
  return result;
};

const complain = ({ problems }: Published, line: number, problem: string): void => {
  if (problems.length < maxProblems) problems.push({ line, problem });
};

const checkAll = async (rows: AsyncIterable<Row>, options: PublishOptions): Promise<Published> => {
  const result: Published = {
    valid: 0,
    invalid: 0,
    skipped: 0,
    sent: 0,
    functions: {},
    messages: [],
    outdated: 0,
    problems: [],
  };
  const seen = new Map<string, number>();
  for await (const row of rows) {
    if (options.signal.aborted) return result;
    if (row.skipped) {
      result.skipped += 1;
      continue;
    }
    const checked = check(row, options, seen);
    if (checked.problem !== undefined) {
      result.invalid += 1;
      complain(result, row.line, checked.problem);
    } else {
      result.valid += 1;
      result.functions[checked.function] = (result.functions[checked.function] ?? 0) + 1;
      if (checked.outdated) result.outdated += 1;
    }
  }
  return result;
};

type Sending = PublishOptions & { sqs: SQSClient; urls: Map<string, string>; result: Published };

const sendValid = async (rows: AsyncIterable<Row>, sending: Sending): Promise<void> => {
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
    for (const [at, reason] of failures) complain(result, batch[at]?.line ?? 0, `SQS refused it: ${reason}`);
    for (const [at, { line, eventId }] of batch.entries()) {
      const messageId = messageIds[at];
      if (messageId !== undefined) result.messages.push({ line, function: name, eventId, messageId });
    }
    result.sent += batch.length - failures.size;
    onSent?.(result.sent, result.valid);
  };
  const seen = new Map<string, number>();
  for await (const row of rows) {
    if (signal.aborted) return;
    const checked = check(row, sending, seen);
    if (checked.problem !== undefined || row.body === undefined) continue;
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
}: Pick<PublishOptions, 'bulk' | 'receipts'>): Outgoing['attributes'] => ({
  ...(bulk && bulkAttributes),
  ...(receipts && { [receiptAttribute]: { DataType: 'String', StringValue: 'yes' } }),
});

type Checked =
  | { problem: string }
  | { function: string; eventId: string; outdated: boolean; problem?: undefined };

const check = (
  { body, problem: unreadable = 'is empty', line, made }: Row,
  { integrations, ...options }: PublishOptions,
  seen: Map<string, number>,
): Checked => {
  if (body === undefined) return { problem: unreadable };
  const integration = integrationFor(body, integrations);
  if (typeof integration === 'string') return { problem: integration };
  let outdated = false;
  let eventId = '';
  try {
    const { id, source, time } = draftOf(body, integration, Date.now());
    const name = `${integration.name}\n${source}\n${id}`;
    const first = seen.get(name);
    if (first !== undefined)
      return { problem: `id: line ${first} has the same id, so one of the two messages would be lost` };
    seen.set(name, line);
    eventId = id;
    outdated = isTooOld(Date.parse(time), Date.now());
  } catch (error) {
    const problem = failureOf(error).message.replace('The message is not valid: ', '');
    return { problem: made ? problemsText(problemsByColumn(problem, made)) : problem };
  }
  const problem = sqsProblem({ body, attributes: attributesOf(options) }, maxMessageBytes);
  return problem === undefined ? { function: integration.name, eventId, outdated } : { problem };
};

/** The integration of the event's type, or the problem with that type. */
const integrationFor = (body: string, integrations: Integrations): Integration<unknown> | string => {
  const read = readJson(body);
  if ('problem' in read) return read.problem;
  const type = (eventIn(body) as { type?: unknown } | null | undefined)?.type;
  const [, name = ''] = /^sis\.(.+)\.v1$/.exec(typeof type === 'string' ? type : '') ?? [];
  const known = [...integrations.keys()].map((each) => `sis.${each}.v1`).join(', ');
  return (
    integrations.get(name) ?? `type: must be one of ${known}; for data without an envelope, pass --function`
  );
};

const queuesOf = async (names: string[], target: Target): Promise<Map<string, string>> => {
  const urls = new Map<string, string>();
  for (const name of names) {
    const url = await target.queueUrlOf(name);
    if (url === undefined)
      throw new RefusedError(
        `Nothing was sent, because there is no queue ${target.prefix}${name}. Check --stage, --region and --profile.`,
      );
    urls.set(name, url);
  }
  return urls;
};
