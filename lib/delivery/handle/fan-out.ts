import type { S3Client } from '@aws-sdk/client-s3';
import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { type NamedObject, unwrapped } from '../../message/envelope.ts';
import { MessageFailure } from '../../message/failure.ts';
import { jsonIn, readJson } from '../../message/json.ts';
import { ownText, type SafeText, safe, safeList, safeMatch } from '../../message/safe-text.ts';
import { maxMessageBytes, type OutgoingMessage, sqsProblem } from '../../message/sqs-limits.ts';
import { openStored, type StoredFile } from '../../runtime/files/files.ts';
import { fileName } from '../../runtime/privacy/file-name.ts';
import { carriedOf } from '../letters/letter-attributes.ts';
import { eventTexts } from './event-texts.ts';
import { attributesOf } from './sqs-delivery.ts';

/** Sends the events of the files that a notice names to the function's own queue; returns a note for the log. */
export type FanOut = (
  objects: readonly NamedObject[],
  about: { record: SQSRecord; signal: AbortSignal; untilMs: number },
) => Promise<SafeText>;

/** Sends messages to the function's own queue. @throws if one of them was not accepted; others may have been. */
type SendOn = (messages: OutgoingMessage[], signal: AbortSignal) => Promise<void>;

type FanOutOptions = {
  /** Files must lie under `events/<function>/` of this bucket; undefined: no file is accepted. */
  bucket: string | undefined;
  functionName: string;
  s3: () => Promise<S3Client>;
  send: SendOn;
  /** Time limit of each reading step. */
  timeoutMs: number;
  maximumBytes: number;
  maximumEvents: number;
  nowMs(): number;
};

/** The attribute of a message that continues where the one before it ended. */
export const placeAttribute = 'place';

/**
 * The attribute comes with a message, and its sender may put any text there, which would be logged: only the texts that this file and
 * those below it write are taken.
 */
const problemForm =
  /^(?:line \d+ (?:is not UTF-8|is itself a notice of a file|is larger than [\d,]+ (?:MiB|bytes), the most that (?:SQS|its queue) accepts|has more than \d+ attributes, the most that SQS accepts|holds U\+[\dA-F]{4,6}, a character that SQS does not accept|comes after the end of the list|is the end of the file, but the list is not closed))?$/;

const placeSchema = z.object({
  /** Number of the file in the notice. */
  file: z.int().nonnegative(),
  /** Of the file that was read: a file that was overwritten is read from its start. */
  etag: z.string(),
  byte: z.int().nonnegative(),
  line: z.int().positive(),
  isList: z.boolean(),
  sent: z.int().nonnegative(),
  /** Events sent from the files before it. */
  sentBefore: z.int().nonnegative().default(0),
  /** Number of events that were not sent, of all files so far; the first problem, and the place of its file among those of the notice. */
  unsent: z.int().nonnegative(),
  problem: z.string().transform((text, context) => {
    const problem = safeMatch(text, problemForm);
    if (problem === undefined) context.addIssue('must be a problem of a line');
    return problem ?? z.NEVER;
  }),
  flawed: z.int().nonnegative().default(0),
});

type Progress = z.infer<typeof placeSchema>;
type Flaws = Pick<Progress, 'unsent' | 'problem' | 'flawed'>;

const begun: Progress = {
  file: 0,
  etag: '',
  byte: 0,
  line: 1,
  isList: false,
  sent: 0,
  sentBefore: 0,
  unsent: 0,
  problem: safe``,
  flawed: 0,
};

/** Messages, and bytes of messages, that are held and sent together. */
const maxHeld = { messages: 80, bytes: 4 * 1024 ** 2 };

/** A file is not a file of events if this many texts at its start hold none. */
const maxStrange = 20;

/**
 * Delivers at least once: if the function dies before the notice is acknowledged, events are sent again, and the ledger recognizes
 * them as duplicates. If the time does not suffice, a message on the queue states where to continue.
 */
export const createFanOut = (options: FanOutOptions): FanOut => {
  const { functionName, send } = options;

  return async (objects, { record, signal, untilMs }) => {
    for (const object of objects) checkPlace(object, options);
    const { [placeAttribute]: placeAttributeValue, ...given } = attributesOf(record);
    const { history: _, ...attributes } = carriedOf(given);
    const place = placeSchema.safeParse(jsonIn(placeAttributeValue?.StringValue ?? '')).data;
    const from = place && place.file < objects.length ? place : begun;
    let sent = 0;
    let flaws: Flaws = from;
    for (const [at, object] of [...objects.entries()].slice(from.file)) {
      const file = await openStored(object, {
        client: await options.s3(),
        signal,
        timeoutMs: options.timeoutMs,
        maximumBytes: options.maximumBytes,
        from: at === from.file ? from : undefined,
      });
      const sentBefore = from.sentBefore + sent;
      const { unsent, problem, flawed } = flaws;
      const atStart = { ...begun, unsent, problem, flawed, file: at, etag: file.etag, sentBefore };
      const progress = file.start === 0 ? atStart : from;
      const isLast = at === objects.length - 1;
      const ended = await sendFile(file, progress, { ...options, attributes, signal, untilMs, isLast });
      if (!ended.isWhole) {
        const there = { DataType: 'String', StringValue: JSON.stringify(ended.progress) };
        await send([{ body: record.body, attributes: { ...attributes, [placeAttribute]: there } }], signal);
        return safe`${ended.progress.sent} events of ${file.name} were sent to the queue of ${ownText(functionName)}; another message sends the rest`;
      }
      sent += ended.progress.sent;
      flaws = ended.progress;
    }
    const flawed = objects[flaws.flawed];
    if (flaws.unsent > 0 && flawed !== undefined)
      throw someUnsent(flawed, { ...flaws, sent: from.sentBefore + sent });
    const names = safeList(objects.map(nameOf));
    return objects.length === 0
      ? safe`This is a test message of S3: there is nothing to do`
      : safe`${sent} events of ${names} were sent to the queue of ${ownText(functionName)}`;
  };
};

type FanOutContext = Pick<FanOutOptions, 'send' | 'nowMs' | 'maximumEvents'> & {
  attributes: Record<string, MessageAttributeValue>;
  signal: AbortSignal;
  untilMs: number;
  /** Of the files of the notice. */
  isLast: boolean;
};

/** Sends the remaining events of a file; not all of them if the time is over before. */
const sendFile = async (
  file: StoredFile,
  from: Progress,
  sending: FanOutContext,
): Promise<{ isWhole: boolean; progress: Progress }> => {
  const { attributes, maximumEvents, nowMs, untilMs, isLast } = sending;
  const progress = { ...from };
  let messages: OutgoingMessage[] = [];
  let bytes = 0;
  let hasEvents = progress.sent > 0;
  const flush = async (): Promise<void> => {
    await sending.send(messages, sending.signal);
    progress.sent += messages.length;
    [messages, bytes] = [[], 0];
  };
  for await (const each of eventTexts(file.stream(), { from, maxBytes: maxMessageBytes })) {
    // Before the next text is taken: nothing is sent before an event was found, and something is left to continue with.
    if (hasEvents && (messages.length >= maxHeld.messages || bytes >= maxHeld.bytes)) {
      await flush();
      if (nowMs() >= untilMs) return { isWhole: false, progress };
    }
    const read = 'text' in each ? messageIn(each.text, attributes) : each;
    Object.assign(progress, { byte: each.end, line: each.nextLine, isList: each.isList });
    if ('problem' in read) {
      progress.unsent += 1;
      if (progress.problem === '') progress.flawed = progress.file;
      progress.problem ||= safe`line ${each.line} ${read.problem}`;
    } else if (progress.sentBefore + progress.sent + messages.length === maximumEvents) {
      await flush();
      throw tooMany(file, { maximumEvents, isOfSeveral: progress.sentBefore > 0, isLast });
    } else {
      messages.push(read.message);
      bytes += read.message.body.length;
      hasEvents ||= read.isEvent;
    }
    const strange = messages.length + progress.unsent - from.unsent;
    if (!hasEvents && strange >= maxStrange) throw noEvents(file, isLast);
  }
  if (!hasEvents && messages.length > 0) throw noEvents(file, isLast);
  await flush();
  return { isWhole: true, progress };
};

const nameOf = ({ bucket, key }: NamedObject): SafeText => fileName(`s3://${bucket}/${key}`);

const decoder = new TextDecoder('utf-8', { fatal: true });

type EventOrProblem = { message: OutgoingMessage; isEvent: boolean } | { problem: SafeText };

/** Whatever the queue accepts becomes a message; an invalid one gets its own letter. */
const messageIn = (bytes: Uint8Array, attributes: Record<string, MessageAttributeValue>): EventOrProblem => {
  let body: string;
  try {
    body = decoder.decode(bytes).trim();
  } catch {
    return { problem: safe`is not UTF-8` };
  }
  const problem = sqsProblem({ body, attributes }, maxMessageBytes);
  if (problem !== undefined) return { problem };
  const read = readJson(body);
  const unwrappedEvent = 'json' in read ? unwrapped(read.json) : undefined;
  // A notice that names its own file would loop for ever.
  if (unwrappedEvent && 'objects' in unwrappedEvent) return { problem: safe`is itself a notice of a file` };
  const isEvent = 'json' in read && typeof read.json === 'object' && read.json !== null;
  return { message: { body, attributes }, isEvent };
};

const checkPlace = (object: NamedObject, { bucket, functionName }: FanOutOptions): void => {
  const folder = safe`events/${ownText(functionName)}/`;
  if (object.bucket === bucket && object.key.startsWith(folder)) return;
  throw new MessageFailure(
    'rejected',
    bucket === undefined
      ? safe`The message names the file of events ${nameOf(object)}, but EVENTS_BUCKET is not set, so no files are read`
      : safe`The message names the file of events ${nameOf(object)}, which is not under ${folder} of this stage’s bucket`,
    {
      remedy:
        bucket === undefined
          ? 'Set EVENTS_BUCKET for the function, then replay.'
          : `Put the file under ${folder} of the stage’s bucket, which then notifies the queue itself, and discard this letter. Remove whatever notifies this queue about other places.`,
    },
  );
};

const tooMany = (
  { name }: StoredFile,
  { maximumEvents, isOfSeveral, isLast }: { maximumEvents: number; isOfSeveral: boolean; isLast: boolean },
): MessageFailure =>
  new MessageFailure(
    'rejected',
    safe`${name} ${isOfSeveral ? 'and the files that the notice names before it hold' : 'holds'} more than ${maximumEvents} events. Only the first ${maximumEvents} were sent`,
    {
      remedy: `Split the file into smaller ones, put them in the same place, and discard this letter. Events that were sent already then count as duplicates. Or raise EVENTS_FILE_MAXIMUM and replay.${unreadAfter(isLast)}`,
    },
  );

const unreadAfter = (isLast: boolean): string =>
  isLast ? '' : ' The files that the notice names after it were not read: put them there again, too.';

const noEvents = ({ name }: StoredFile, isLast: boolean): MessageFailure =>
  new MessageFailure(
    'rejected',
    safe`${name} is neither JSON Lines nor a JSON array of events. Nothing was sent`,
    {
      remedy: `Put the file there again in UTF-8, with one event in each line or with a list of events. Then discard this letter.${unreadAfter(isLast)}`,
    },
  );

const someUnsent = (of: NamedObject, { sent, unsent, problem }: Flaws & { sent: number }): MessageFailure =>
  new MessageFailure(
    'rejected',
    safe`${nameOf(of)}: ${problem}${unsent > 1 ? safe`, and ${unsent - 1} more cannot be sent either` : ''}; ${sent} events were sent`,
    {
      remedy:
        'Correct these events, put them in the same place in a file of their own, and discard this letter. (A replay would send the other events again. They would count as duplicates.)',
    },
  );
