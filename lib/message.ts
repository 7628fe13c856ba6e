import * as z from 'zod';
import { MessageFailure } from './failure.ts';
import { fileUriProblem } from './files.ts';
import { mediaType } from './platform/multipart.ts';

/** What the SIS sent: a CloudEvents 1.0 event whose data has the shape that its integration declares. */
export type Message<Data> = {
  id: string;
  source: string;
  /** When the SIS says it happened: with `sequence` and `id`, the message's version. */
  time: Date;
  sequence: string | undefined;
  data: Data;
};

/** An id of the platform: org unit, user, grade object, … */
export const platformId = z
  .int('must be a positive whole number')
  .positive('must be a positive whole number');

/** Where a file lies: `s3://bucket/key`, or `https://`; whether its host is allowed is for the function's settings to say. */
export const fileUri = z.string().check((context) => {
  const problem = fileUriProblem(context.value);
  if (problem) context.issues.push({ code: 'custom', message: problem, input: context.value });
});

export const contentType = z
  .string()
  .max(255)
  .regex(mediaType, 'must be a content type as in application/pdf');

/** How far ahead of our clock a producer's may be, in milliseconds. */
const aheadMs = 3_600_000;

const envelope = z.looseObject({
  specversion: z.literal('1.0'),
  id: z.string().min(1).max(256),
  source: z.string().min(1).max(2048),
  type: z.string(),
  time: z.iso.datetime({ offset: true, error: 'must be a time as in 2026-01-31T09:30:00Z' }),
  datacontenttype: z
    .string()
    .regex(/^application\/(.+\+)?json\b/i, 'must be application/json')
    .optional(),
  sequence: z.string().max(256).optional(),
});

/** The type of an integration's messages. */
export const messageType = (integration: string): string => `sis.${integration}.v1`;

/**
 * Reads the body of an SQS message.
 * @throws MessageFailure of kind `invalid`, naming each field and never its value.
 */
export const parseMessage = <Data>(
  body: string,
  integration: { name: string; data: z.ZodType<Data> },
  nowMs: number,
): Message<Data> => {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    throw invalid(['the body is not JSON']);
  }
  const head = envelope.safeParse(json);
  if (!head.success) throw invalid(problemsOf(head.error));
  const type = messageType(integration.name);
  if (head.data.type !== type) throw invalid([`type: must be ${type} on this queue`]);
  const time = new Date(head.data.time);
  if (time.getTime() > nowMs + aheadMs) throw invalid(['time: must not be more than an hour in the future']);
  const data = integration.data.safeParse(head.data.data);
  if (!data.success) throw invalid(problemsOf(data.error, ['data']));
  return { id: head.data.id, source: head.data.source, time, sequence: head.data.sequence, data: data.data };
};

const invalid = (problems: string[]): MessageFailure =>
  new MessageFailure('invalid', `The message is not valid: ${problems.join('; ')}`);

const mostProblems = 10;

const problemsOf = (error: z.ZodError, under: PropertyKey[] = []): string[] => {
  const problems = error.issues.flatMap((issue) => {
    const path = [...under, ...issue.path];
    if (issue.code !== 'unrecognized_keys') return [`${fieldOf(path)}: ${lowerFirst(issue.message)}`];
    return issue.keys.map((key) => `${fieldOf([...path, key.slice(0, 60)])}: is not a known field`);
  });
  const more = problems.length - mostProblems;
  return more > 0 ? [...problems.slice(0, mostProblems), `and ${more} more`] : problems;
};

const fieldOf = (path: PropertyKey[]): string =>
  path.length === 0
    ? 'the body'
    : path
        .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${String(part)}`))
        .join('');

const lowerFirst = (text: string): string =>
  text.replace(/^Invalid input: /, '').replace(/^./, (c) => c.toLowerCase());
