import type { Integration } from '../../../delivery/handle/integration.ts';
import { isTooOld } from '../../../delivery/ledger/judge.ts';
import { problemsByColumn } from '../../../delivery/mapping/events.ts';
import { unwrapped } from '../../../message/envelope.ts';
import type { ShownProblem } from '../../../message/failure.ts';
import { readMessageJson } from '../../../message/json.ts';
import { draftOf, messageType } from '../../../message/message.ts';
import { safe } from '../../../message/safe-text.ts';
import { maxMessageBytes, type OutgoingMessage, sqsProblem } from '../../../message/sqs-limits.ts';
import { problemsIn } from '../../../platform/client/failure-of.ts';
import { integrationNames } from '../../../stage/function-names.ts';
import { functionOf } from './event-body.ts';
import type { Row } from './rows.ts';

type MaybeIntegration = Integration<unknown> | undefined;

export type CheckOptions = {
  /** The integration of this name, if there is one. */
  integrationOf(name: string): MaybeIntegration | Promise<MaybeIntegration>;
  /** What each message carries beside its body. */
  attributes: OutgoingMessage['attributes'];
  /** What else may help if there is no function for the type. */
  ifNoType?: string;
  signal: AbortSignal;
  nowMs: number;
};

export type CheckResult = {
  valid: number;
  invalid: number;
  /** Rows that produce no message by the mapping. */
  skipped: number;
  /** Number of valid messages by function. */
  functions: Record<string, number>;
  /** Messages so old that they are sent only if the ledger still knows their resource. */
  outdated: number;
  /** Valid messages that are the same ones each time that the file is published: what was done is not done again. */
  same: number;
};

/** Checks every row as the function of its queue does, before it asks the ledger and the platform. */
export const checkRows = async (
  rows: AsyncIterable<Row>,
  {
    onProblems,
    ...checking
  }: CheckOptions & { onProblems(line: number, problems: readonly ShownProblem[]): void },
): Promise<CheckResult> => {
  const result: CheckResult = { valid: 0, invalid: 0, skipped: 0, functions: {}, outdated: 0, same: 0 };
  for await (const { row, checked } of checkedRows(rows, checking)) {
    if (checked === undefined) result.skipped += 1;
    else if (checked.problems !== undefined) {
      result.invalid += 1;
      onProblems(row.line, checked.problems);
    } else {
      result.valid += 1;
      result.functions[checked.function] = (result.functions[checked.function] ?? 0) + 1;
      if (checked.outdated) result.outdated += 1;
      if (!row.isNew) result.same += 1;
    }
  }
  return result;
};

/** `checked` is undefined for a row that produces no message. */
export async function* checkedRows(rows: AsyncIterable<Row>, checking: CheckOptions) {
  const seen = new Map<string, number>();
  for await (const row of rows) {
    if (checking.signal.aborted) return;
    yield { row, checked: row.skipped ? undefined : await check(row, checking, seen) };
  }
}

type Result =
  | { problems: readonly ShownProblem[] }
  | { function: string; eventId: string; outdated: boolean; problems?: undefined };

const check = async (
  { body, problem: unreadable = 'is empty', line, made }: Row,
  { integrationOf, attributes, ifNoType, nowMs }: CheckOptions,
  seen: Map<string, number>,
): Promise<Result> => {
  if (body === undefined) return { problems: [{ problem: unreadable }] };
  const read = readMessageJson(body);
  const unwrappedEvent = 'json' in read ? unwrapped(read.json) : read;
  if ('problem' in unwrappedEvent) return { problems: [{ problem: unwrappedEvent.problem }] };
  if (!('event' in unwrappedEvent)) return { problems: [{ problem: 'is a notice of S3, not an event' }] };
  const integration = await integrationOf(
    functionOf((unwrappedEvent.event as { type?: unknown } | null | undefined)?.type),
  );
  if (integration === undefined) {
    const problem = [`must be one of ${types()}`, ifNoType ?? []].flat().join('; ');
    return { problems: [{ field: 'type', problem }] };
  }
  let outdated = false;
  let eventId = '';
  try {
    const { id, source, time } = draftOf(body, integration, nowMs);
    const name = `${integration.name}\n${source}\n${id}`;
    const first = seen.get(name);
    if (first !== undefined)
      return {
        problems: [
          {
            field: 'id',
            problem: `line ${first} has the same id, and only one message of an id takes effect`,
          },
        ],
      };
    seen.set(name, line);
    eventId = id;
    outdated = isTooOld(Date.parse(time), nowMs);
  } catch (error) {
    const problems = problemsIn(error);
    if (made === undefined) return { problems };
    const byColumn = problemsByColumn(problems, made, safe`the row`);
    return { problems: byColumn.map(({ column, problem }) => ({ field: column, problem })) };
  }
  const problem = sqsProblem({ body, attributes }, maxMessageBytes);
  return problem === undefined
    ? { function: integration.name, eventId, outdated }
    : { problems: [{ problem }] };
};

const types = (): string => integrationNames().map(messageType).join(', ');
