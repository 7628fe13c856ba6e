import type { LetterFailure } from '../../dead-letter.ts';
import { editedAttribute } from '../../dead-letters/edit/edit.ts';
import { type Letter, replayedOften, unnamed } from '../../dead-letters/reading/letter.ts';
import { withoutFileNames } from '../../files/uri.ts';
import { jsonIn } from '../../json.ts';
import { hidden } from '../../redaction/hidden.ts';
import { maskedBody } from '../../redaction/mask.ts';
import { plain } from '../../redaction/printable.ts';
import { ageOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

export type Story = {
  id: string;
  function: string;
  kind: string;
  error: string;
  remedy: string;
  sentAt: string;
  source: string;
  replays: number;
  failure: Letter['failure'];
  /** Who edited it, when and why, and where the original is. */
  edited: unknown;
  /** Parsed, if it is JSON; else its text, or what can be told of it. */
  message: unknown;
  attributes: Record<string, string>;
  revealed: boolean;
};

/** All that is known of a letter; of its message and of the platform's words only what names nobody, unless revealed. */
export const storyOf = (letter: Letter, { reveal }: { reveal: boolean }): Story => {
  const { id, kind, error, remedy, source, replays, failure, body } = letter;
  const shown = (text: string) => (reveal ? text : unnamed(letter, text));
  const told = ({ message, title }: LetterFailure): string => {
    if (reveal) return message;
    const unnamed = withoutFileNames(message);
    // The platform's title stands in our sentence, too.
    return title ? unnamed.replaceAll(title, () => shown(title)) : unnamed;
  };
  return {
    ...{ id, kind, error, remedy, source, replays },
    function: letter.function,
    sentAt: new Date(letter.sentMs).toISOString(),
    failure:
      failure === null
        ? null
        : {
            ...failure,
            message: told(failure),
            ...(failure.detail === undefined ? {} : { detail: shown(failure.detail) }),
            ...(failure.title === undefined ? {} : { title: shown(failure.title) }),
          },
    edited: jsonIn(letter.attributes[editedAttribute]?.StringValue ?? ''),
    message: reveal
      ? (jsonIn(body) ?? body)
      : (maskedBody(body) ?? `${Buffer.byteLength(body)} bytes that are no JSON object: ${hidden}`),
    attributes: Object.fromEntries(
      Object.entries(letter.attributes)
        .filter(([name]) => name !== editedAttribute)
        .map(([name, { StringValue, DataType }]) => [name, reveal ? (StringValue ?? `${DataType}`) : hidden]),
    ),
    revealed: reveal,
  };
};

const labelWidth = 16;

/** A failure tells more than its letter's line; that a message cannot be read stands beside it. */
const whatHappened = ({ kind, error, failure }: Story): string => {
  if (failure === null) return error;
  return kind === 'unreadable' ? `${error}. ${failure.message}` : failure.message;
};

export const storyLines = (story: Story, { style, width }: Terminal): string[] => {
  const { failure, edited } = story;
  const field = (label: string, value: string | number | undefined): string[] => {
    if (value === undefined || value === '') return [];
    const lines = wrapped(plain(String(value)), width - labelWidth);
    return lines.map((line, at) => style('dim', (at === 0 ? label : '').padEnd(labelWidth)) + line);
  };
  const ageAt = (time: string | undefined) =>
    time === undefined ? undefined : `${time} (${ageOf(Date.parse(time))} ago)`;
  const answer = [failure?.status, failure?.title].filter((each) => each !== undefined).join(' ');
  return [
    style('bold', `Letter ${story.id}`),
    '',
    ...field('Function', story.function),
    ...field('Kind', story.kind),
    ...field('What happened', whatHappened(story)),
    ...field('What to do', story.remedy).map((line) => style('green', line)),
    '',
    ...field('Call', failure?.operation),
    ...field('Answer', answer),
    ...field('In its words', failure?.detail),
    ...field('Problem type', failure?.type),
    ...field('It requires', failure?.required),
    ...field('Request id', failure?.requestId),
    ...field('Attempts', failure?.attempts),
    ...field('First attempt', ageAt(failure?.firstAt)),
    ...field('Last attempt', ageAt(failure?.lastAt)),
    ...field('Letter since', ageAt(story.sentAt)),
    ...field(
      'Replays',
      story.replays >= replayedOften
        ? `${story.replays}: look into the cause before another one`
        : story.replays,
    ),
    ...field('From', story.source),
    ...(edited === undefined ? [] : field('Edited', JSON.stringify(edited))),
    ...Object.entries(story.attributes).flatMap(([name, value]) => field('Attribute', `${name}: ${value}`)),
    '',
    style('dim', story.revealed ? 'Message' : `Message, without what is personal (--reveal shows it)`),
    ...messageLines(story.message),
  ];
};

const messageLines = (message: unknown): string[] =>
  (typeof message === 'string' ? message : JSON.stringify(message, null, 2))
    .split('\n')
    .map((line) => `  ${plain(line)}`);
