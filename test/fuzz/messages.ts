import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import {
  type DeadLetter,
  type LetterFailure,
  letterOf,
  sqsMessageOf,
} from '../../lib/delivery/letters/dead-letter.ts';
import { letterChange } from '../../lib/delivery/letters/letter-facts.ts';
import type { IndexRecord } from '../../lib/delivery/letters/record.ts';
import type { Terminal } from '../../lib/desk/cli/print/terminal.ts';
import { linesOf } from '../../lib/desk/cli/print/view.ts';
import { differences } from '../../lib/desk/messages/edit/change.ts';
import { matches } from '../../lib/desk/messages/letters/filter.ts';
import { groupsOf } from '../../lib/desk/messages/letters/groups.ts';
import { createLetterReader, type Letter } from '../../lib/desk/messages/letters/letter.ts';
import { letterIn, letterLine } from '../../lib/desk/messages/letters/letter-line.ts';
import { detailsOf } from '../../lib/desk/messages/letters/show.ts';
import { messageFor } from '../../lib/desk/messages/replay/send-and-delete.ts';
import { letterView } from '../../lib/desk/views/letters.ts';
import { MessageFailure } from '../../lib/message/failure.ts';
import { failureKindNames, letterKinds } from '../../lib/message/failure-kinds.ts';
import { jsonIn } from '../../lib/message/json.ts';
import { eventIdIn, parseMessage } from '../../lib/message/message.ts';
import { maxBytes, sqsProblem } from '../../lib/message/sqs-limits.ts';
import { versionOf } from '../../lib/message/version.ts';
import { withoutFields } from '../../lib/runtime/privacy/letter-body.ts';
import { printableJson } from '../../lib/runtime/privacy/printable.ts';
import { type Body, bodies } from './bodies.ts';
import { createMeasure } from './measure.ts';

export type FuzzReport = {
  /** What does not hold, each with the seed of its message; none where all is well. */
  problems: string[];
  /** How many messages came to what. */
  reached: Map<string, number>;
  told: string;
};

const plainTerminal = {
  style: (_: unknown, text: string) => text,
  width: 100,
  command: (words: string) => words,
} as Terminal;
const prefix = 'sis-relay-fuzz-';
const read = createLetterReader({ prefix, queueUrlOf: async (name) => `http://queues/${name}` });
const kinds = failureKindNames;
const controls = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const nowMs = Date.parse('2026-06-01T12:00:00Z');
/** Beyond so many nothing new is learnt. */
const maxProblems = 20;

/**
 * Leads generated messages the whole way from their queue into a letter, and through what operators do with it: nothing may throw
 * but what a message is refused by, every letter fits into SQS and holds its body byte for byte but for what is forbidden, and
 * what is somebody's is told to nobody.
 */
export const fuzzMessages = async (count: number, seed: number): Promise<FuzzReport> => {
  const bodyOf = await bodies();
  const problems: string[] = [];
  const reached = new Map<string, number>();
  const measure = createMeasure();
  for (let at = 0; at < count && problems.length < maxProblems; at += 1) {
    const made = bodyOf(seed + at);
    try {
      const came = await measure.time(
        () => `seed ${seed + at}`,
        () => checkMessage(made, seed + at),
      );
      reached.set(came, (reached.get(came) ?? 0) + 1);
    } catch (error) {
      problems.push(`seed ${seed + at}, ${made.integration.name}: ${whatIs(error)}`);
    }
    if (at % 1_000 === 0) measure.sampleMemory();
  }
  return { problems, reached, told: measure.told(count, 'messages') };
};

const whatIs = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 500) : String(error);

const claim = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

/** Answers what became of it. */
const checkMessage = async (made: Body, seed: number): Promise<string> => {
  const invalid = checkParsing(made);
  const letter = checkLetter(made, { invalid, seed });
  // Not what was taken from it, nor what stands where a message says what it is.
  const plain = plainTexts(letter.body);
  const names = made.names.filter((name) => isWordIn(letter.body, name) && !plain.includes(name));
  const read = await checkReading(names, letter);
  // Each of these takes as long as all else together.
  if (seed % 10 === 0) checkVerbs({ ...made, names }, { ...letter, read });
  return invalid === undefined
    ? 'valid'
    : `invalid: ${invalid.replace(/^[^ ]*: |[;,(].*/gs, '').slice(0, 40)}`;
};

/** Only whole words of a message are hidden in what the platform says. */
const isWordIn = (text: string, name: string): boolean =>
  new RegExp(`(?<![\\p{L}\\p{M}\\p{N}])${name}(?![\\p{L}\\p{M}\\p{N}])`, 'u').test(text);

/** What may be shown of a message to anybody. */
const plainTexts = (body: string): string => {
  const types = body.match(/"(?:type|contentType)": ?"[^"]*"/g) ?? [];
  const json = jsonIn(body);
  // Of what is nested too deep, the id is shown all the same.
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return /"id": ?"[^"\s]+"/.exec(body)?.[0] ?? '';
  const texts = Object.entries(json).flatMap(([name, value]) => (name === 'data' ? [] : [value]));
  return [...texts.filter((text) => typeof text === 'string' && !/\s/.test(text)), ...types].join('\n');
};

/** Answers why it is not valid. */
const checkParsing = ({ integration, body, names, secrets }: Body): string | undefined => {
  const id = eventIdIn(body);
  claim(id === undefined || [...id].length <= 256, 'an id is longer than any may be');
  try {
    const message = parseMessage(body, integration, nowMs);
    claim(integration.resource(message.data, message) !== '', 'a valid message has no resource');
    claim(versionOf(message, integration.name).length > 0, 'a valid message has no version');
    integration.actor?.(message.data);
    return undefined;
  } catch (error) {
    if (!(error instanceof MessageFailure) || error.kind !== 'invalid') throw error;
    const { message } = error;
    claim(message.length < 4_000 && message.isWellFormed(), 'a refusal is too long, or no text');
    claim(![...names, ...secrets].some((each) => message.includes(each)), 'a refusal tells what it refuses');
    return message.replace('The message is not valid: ', '');
  }
};

/** The letter that a function writes, as SQS gives it back. */
const checkLetter = (
  { integration, body, names, secrets }: Body,
  { invalid, seed }: { invalid: string | undefined; seed: number },
) => {
  const masked = withoutFields(body, integration.forbidden);
  claim(!secrets.some((secret) => masked.body.includes(secret)), 'a forbidden value is left in the letter');
  claim(
    masked.fields.length > 0 || masked.isWithheld === true || masked.body === body,
    'a body is changed in which nothing is forbidden',
  );
  const isTaken = sqsProblem({ body, attributes: {} }) === undefined;
  claim(
    !isTaken || sqsProblem({ body: masked.body, attributes: {} }) === undefined,
    'SQS takes a message and not its letter',
  );
  const said = `No ${names.join(', ')} here: ${spelled(names[0] ?? 'nobody', seed)}`;
  const failure: LetterFailure = {
    kind: invalid === undefined ? (kinds[seed % kinds.length] ?? 'rejected') : 'invalid',
    message: invalid ?? 'The platform answered with 404',
    remedy: 'Replay.',
    function: integration.name,
    attempts: 1,
    firstAt: '2026-06-01T12:00:00.000Z',
    lastAt: '2026-06-01T12:00:01.000Z',
    ...(invalid === undefined ? { status: 404, title: 'Not Found', detail: said } : {}),
  };
  const forged = { DataType: 'String', StringValue: JSON.stringify({ ...failure, kind: 'uncertain' }) };
  const written: DeadLetter = {
    body: masked.body,
    source: `arn:aws:sqs:eu-west-1:1:${prefix}${integration.name}`,
    replays: seed % 3,
    failure,
    attributes: seed % 5 === 0 ? { failure: forged, source: forged, whole: forged, trace: forged } : {},
  };
  const message = sqsMessageOf(written);
  const sent = { body: message.MessageBody, attributes: message.MessageAttributes };
  claim(sent.body === masked.body, 'a letter has another body');
  claim(!isTaken || sqsProblem(sent) === undefined, 'SQS does not take the letter');
  const back = letterOf({ Body: sent.body, MessageAttributes: sent.attributes });
  const isShort = Buffer.byteLength(sent.body) < maxBytes - 16_384;
  claim(back.body === masked.body && back.source === written.source, 'a letter is read as another');
  claim(!isShort || back.failure?.kind === failure.kind, 'a letter has lost its failure');
  claim(back.storedAt === undefined, 'a producer says where a letter lies');
  return { ...sent, isTaken };
};

const spelled = (name: string, seed: number): string =>
  [
    name.toUpperCase(),
    encodeURIComponent(name),
    Buffer.from(name).toString('base64'),
    name.slice(2),
    `&#81;${name.slice(1)}`,
  ][seed % 5] ?? '';

type Sent = { body: string; attributes: Record<string, MessageAttributeValue>; isTaken: boolean };

/** What anybody may see of it. */
const checkReading = async (names: string[], { body, attributes }: Sent): Promise<Letter> => {
  const letter = await read({
    MessageId: '0f6c1a52',
    Body: body,
    MessageAttributes: attributes,
    Attributes: { SentTimestamp: String(nowMs) },
  });
  claim(
    letterKinds.includes(letter.kind) && letter.error !== '' && letter.remedy !== '',
    'a letter tells nothing',
  );
  const shown = printableJson(detailsOf(letter, { reveal: false }));
  claim(!controls.test(shown), 'what a terminal obeys is printed');
  const shownName = names.find((name) => shown.includes(name));
  claim(shownName === undefined, `what is somebody’s is told: ${shownName}`);
  return letter;
};

/** What operators do with it. */
const checkVerbs = (
  { body: original, names }: Body,
  { body, isTaken, read: letter }: Sent & { read: Letter },
): void => {
  const { facts } = letterChange(letter, { ...letter, resource: undefined, writtenMs: letter.sentMs });
  const record = { ...facts, message: letter.id, state: 'letter', waits: [] } as unknown as IndexRecord;
  matches({ id: ['0f6c1a52'], user: '301', orgUnit: '2001', error: 'x' }, record);
  const shown = [
    printableJson(groupsOf([record]).groups),
    printableJson(record),
    ...linesOf(letterView(detailsOf(letter, { reveal: false })), plainTerminal),
    printableJson(differences(body, original.replace('301', '302'), { reveal: false })),
  ].join('\n');
  claim(!controls.test(shown), 'what a terminal obeys is printed');
  claim(
    !controls.test(printableJson(detailsOf(letter, { reveal: true }))),
    'what a terminal obeys is revealed',
  );
  const shownName = names.find((name) => shown.includes(name));
  claim(shownName === undefined, `what is somebody’s is told: ${shownName}`);
  if (body !== '')
    claim(letterIn(letterLine(letter)).body === body, 'an export is imported as another letter');
  const replayed = messageFor(letter);
  claim(replayed.body === body, 'a replay sends another body');
  claim(!isTaken || sqsProblem(replayed) === undefined, 'SQS does not take the replay');
};
