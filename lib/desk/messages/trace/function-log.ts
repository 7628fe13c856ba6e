import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs';
import * as z from 'zod';
import { jsonIn } from '../../../message/json.ts';
import { awsClient } from '../../../runtime/aws/clients.ts';
import { errorName } from '../../../runtime/aws/error.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { Target } from '../../../stage/target.ts';
import type { TraceEvent } from './event.ts';

/** The fields of a line written by runtime/telemetry/log-facts.ts that are read here. */
const factsSchema = z.object({
  messageId: z.string().optional(),
  eventId: z.string().optional(),
  durationMs: z.number().optional(),
});
const lineSchema = factsSchema.extend({
  level: z.string(),
  timestamp: z.iso.datetime(),
  message: z.string(),
  function: z.string(),
  outcome: z.string().optional(),
  kind: z.string().optional(),
  reason: z.string().optional(),
  operation: z.string().optional(),
  status: z.number().optional(),
  attempts: z.number().optional(),
  replays: z.number().optional(),
  requests: z.number().optional(),
  waitSeconds: z.number().optional(),
  error: z.unknown().optional(),
  /** Present if several messages share the line. */
  messages: z.array(factsSchema).optional(),
});

type LogQuery = {
  /** SQS' ids of messages, and ids of events. */
  ids: readonly string[];
  functions: readonly string[];
  sinceMs: number;
  signal: AbortSignal;
};

export type LoggedEvents = { events: TraceEvent[]; isWhole: boolean };

/** Maximum number of lines per function. */
const maxLines = 1_000;
/** CloudWatch Logs searches a large group page by page, without end: this bounds it. */
const maxPages = 200;
const maxMs = 60_000;

/** What the functions logged about these messages since then. @throws if their log cannot be read. */
export const loggedOf = async (target: Target, query: LogQuery): Promise<LoggedEvents> => {
  const { functionLog } = target;
  if (functionLog === undefined)
    throw new RefusedError('the stack does not record it: restart `npm run local`');
  const ids = new Set(query.ids);
  const { lines, isWhole } =
    'file' in functionLog
      ? { lines: await linesOfFile(functionLog.file, query), isWhole: true }
      : await linesOfGroups(awsClient(await cloudWatchLogs(), functionLog.client), {
          ...query,
          prefix: `/aws/lambda/${target.prefix}`,
        });
  return { events: lines.flatMap((line) => eventsIn(line, ids)), isWhole };
};

/** Imported here because no function reads logs. */
const cloudWatchLogs = async () => (await import('@aws-sdk/client-cloudwatch-logs')).CloudWatchLogsClient;

/** `npm run local` puts the function's name before each line. */
const linesOfFile = async (file: string, { ids }: LogQuery): Promise<string[]> => {
  const found: string[] = [];
  for await (const line of createInterface({
    input: createReadStream(file),
    crlfDelay: Number.POSITIVE_INFINITY,
  }))
    if (ids.some((id) => line.includes(id))) found.push(line.slice(line.indexOf(' ') + 1));
  return found;
};

/** CloudWatch Logs accepts patterns of at most 1,024 characters. */
const maxPattern = 1_000;

/** Patterns that match lines with at least one of these texts. A text with quotes, which no id of SQS has, is omitted. */
const patternsFor = (texts: readonly string[]): string[] => {
  const terms = texts.filter((text) => !/["\\]/.test(text) && text.length < 300).map((text) => `"${text}"`);
  const patterns: string[][] = [];
  for (const term of terms) {
    const last = patterns.at(-1);
    if (last && [...last, term].join(' ?').length < maxPattern) last.push(term);
    else patterns.push([term]);
  }
  return patterns.map((each) => (each.length === 1 ? each.join('') : `?${each.join(' ?')}`));
};

const linesOfGroups = async (
  client: CloudWatchLogsClient,
  { ids, functions, sinceMs, signal, prefix }: LogQuery & { prefix: string },
): Promise<{ lines: string[]; isWhole: boolean }> => {
  const { FilterLogEventsCommand } = await import('@aws-sdk/client-cloudwatch-logs');
  const late = AbortSignal.timeout(maxMs);
  const abortSignal = AbortSignal.any([signal, late]);
  const patterns = patternsFor(ids);
  const lines: string[] = [];
  let isWhole = true;
  const search = async (logGroupName: string, filterPattern: string): Promise<void> => {
    let nextToken: string | undefined;
    for (let page = 1, found = 0; ; page += 1) {
      const input = { logGroupName, filterPattern, startTime: sinceMs, ...(nextToken && { nextToken }) };
      const answer = await client.send(new FilterLogEventsCommand(input), { abortSignal });
      const { events = [] } = answer;
      found += events.length;
      lines.push(...events.flatMap(({ message }) => message ?? []));
      nextToken = answer.nextToken;
      if (nextToken === undefined) return;
      if (page < maxPages && found < maxLines) continue;
      isWhole = false;
      return;
    }
  };
  try {
    for (const name of functions)
      for (const pattern of patterns)
        await search(`${prefix}${name}`, pattern).catch((error: unknown) => {
          // It has not run yet, or nothing of its log is kept.
          if (errorName(error) !== 'ResourceNotFoundException') throw error;
        });
  } catch (error) {
    if (!late.aborted) throw error;
    isWhole = false;
  } finally {
    client.destroy();
  }
  return { lines, isWhole };
};

const eventsIn = (text: string, ids: ReadonlySet<string>): TraceEvent[] => {
  const parsed = lineSchema.safeParse(jsonIn(text));
  if (!parsed.success) return [];
  const { timestamp: at, message: said, messages, error, level, ...line } = parsed.data;
  const isAsked = ({ messageId = '', eventId = '' }: z.infer<typeof factsSchema>) =>
    ids.has(messageId) || ids.has(eventId);
  const { function: name, outcome, kind, reason, operation, status, attempts, replays } = line;
  const { requests, waitSeconds } = line;
  return (messages ?? [line]).filter(isAsked).map(({ messageId, eventId, durationMs }): TraceEvent => {
    const about = { at, message: messageId, eventId, function: name };
    if (outcome === undefined)
      return {
        ...about,
        what: 'logged',
        error: [level.toLowerCase(), said, reason, causeIn(error)].filter(Boolean).join(': '),
      };
    return {
      ...about,
      what: 'attempt',
      outcome,
      kind,
      error: reason,
      operation,
      status,
      attempts,
      replays,
      requests,
      durationMs,
      waitSeconds,
    };
  });
};

const causeIn = (error: unknown): string | undefined =>
  typeof error === 'string'
    ? error
    : typeof error === 'object' && error !== null && 'name' in error
      ? String(error.name)
      : undefined;
