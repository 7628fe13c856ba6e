import type { LetterFailure } from '../../../delivery/letters/dead-letter.ts';
import { type History, historyIn } from '../../../delivery/letters/history.ts';
import { unnamed } from '../../../delivery/letters/letter-words.ts';
import { hidden } from '../../../message/hidden.ts';
import { jsonIn, problemOf } from '../../../message/json.ts';
import { withoutFileNames } from '../../../runtime/privacy/file-name.ts';
import { maskedBody } from '../../../runtime/privacy/shown-message.ts';
import type { Audit } from '../../../stage/audit.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { Target } from '../../../stage/target.ts';
import { goneBecause, withLetters } from './leased-letters.ts';
import type { Letter } from './letter.ts';
import { findLetter, selectLetters } from './list.ts';
import type { ReadOptions } from './session.ts';

export type LetterDetails = Pick<
  Letter,
  'id' | 'function' | 'kind' | 'error' | 'remedy' | 'source' | 'replays' | 'failure'
> & {
  sentAt: string;
  /** What operators did to it before: who, when and why, and after an edit the address of the original. */
  history: History | undefined;
  /** Parsed, if it is JSON; else its text, or its size. */
  message: unknown;
  attributes: Record<string, string>;
  revealed: boolean;
};

type ShowOptions = ReadOptions & {
  id: string;
  /** Shows personal data; the audit log records it. */
  reveal: boolean;
  /** The reason for revealing, for the audit log. */
  reason?: string | undefined;
  audit: Audit;
};

/** The details of one letter, which stays in the queue. */
export const showLetter = async (
  target: Target,
  { reveal, reason, audit, ...options }: ShowOptions,
): Promise<LetterDetails> => {
  const audited = reveal
    ? await audit.begin({ command: 'letters show --reveal', reason, letters: [options.id] })
    : undefined;
  let revealed = 0;
  try {
    const selected = await findLetter(target, options.id, options.signal);
    const { letter } = await withLetters(target, { ...options, letters: [selected] }, async (inHand) => {
      const [found] = inHand.letters;
      if (found === undefined)
        throw new RefusedError(`The message of ${selected.id} cannot be shown: ${goneBecause(inHand.held)}.`);
      return { letter: await inHand.read(found) };
    });
    revealed = 1;
    return detailsOf(letter, { reveal });
  } finally {
    await audited?.end({ revealed });
  }
};

type ManyOptions = ReadOptions & { ids: string[] };

/** Reads letters together, which stay in the queue; those that cannot be received are left out. `atMost`: of how many of the queue. */
export const showLetters = async (
  target: Target,
  { ids, reveal = false, ...options }: ManyOptions & { reveal?: boolean; atMost?: number },
): Promise<LetterDetails[]> => {
  const { letters } = await selectLetters(target, { filter: { id: ids } }, options.signal);
  const details: LetterDetails[] = [];
  await withLetters(target, { ...options, letters }, async (inHand) => {
    for (const letter of inHand.letters) details.push(detailsOf(await inHand.read(letter), { reveal }));
    return {};
  });
  return details;
};

/** Reveals letters together, for one reason. */
export const revealLetters = async (
  target: Target,
  { reason, audit, ...options }: ManyOptions & { reason?: string | undefined; audit: Audit },
): Promise<LetterDetails[]> => {
  const { end } = await audit.begin({ command: 'letters show --reveal', reason, letters: options.ids });
  let details: LetterDetails[] = [];
  try {
    details = await showLetters(target, { ...options, reveal: true });
    return details;
  } finally {
    await end(
      { revealed: details.length },
      details.map(({ id }) => id),
    );
  }
};

/** Masks personal data in the message and in the platform's words, unless revealed. */
export const detailsOf = (letter: Letter, { reveal }: { reveal: boolean }): LetterDetails => {
  const { id, kind, error, remedy, source, replays, failure, body } = letter;
  const shown = (text: string) => (reveal ? text : unnamed(letter, text));
  const shownMessage = ({ message, title }: LetterFailure): string => {
    if (reveal) return message;
    const withoutFiles = withoutFileNames(message);
    // Our own sentence repeats the platform's title.
    return title ? withoutFiles.replaceAll(title, () => shown(title)) : withoutFiles;
  };
  return {
    id,
    kind,
    error,
    remedy,
    source,
    replays,
    function: letter.function,
    sentAt: new Date(letter.sentMs).toISOString(),
    failure:
      failure === null
        ? null
        : {
            ...failure,
            message: shownMessage(failure),
            ...(failure.detail === undefined ? {} : { detail: shown(failure.detail) }),
            ...(failure.title === undefined ? {} : { title: shown(failure.title) }),
          },
    history: historyIn(letter.attributes.history?.StringValue),
    message: reveal
      ? (jsonIn(body) ?? body)
      : (maskedBody(body) ??
        `${Buffer.byteLength(body)} bytes: ${hidden}. The text ${problemOf(body) ?? 'is not a JSON object'}.`),
    attributes: Object.fromEntries(
      Object.entries(letter.attributes)
        .filter(([name]) => name !== 'history')
        .map(([name, { StringValue, DataType }]) => [name, reveal ? (StringValue ?? `${DataType}`) : hidden]),
    ),
    revealed: reveal,
  };
};
