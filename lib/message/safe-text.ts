declare const isSafe: unique symbol;

/**
 * A text that a log and the message of an error may have: it holds nothing that a message or the platform says, but for names of files
 * in ‹›, which a log leaves out (`fileName`). Only `safe` and the makers beside it give one, so the compiler finds whoever logs anything
 * else. A maker that takes any text is used only where its sentence is true, and the place says why if that cannot be seen there.
 */
export type SafeText = string & { readonly [isSafe]: true };

/** A word that the code itself has, such as a kind of failure; `string`, and a template of one, are none. */
type OwnWord<Text> = Text extends string ? (Record<never, 1> extends Record<Text, 1> ? never : Text) : never;

type SafePart<Part> = Part extends SafeText | number
  ? Part
  : [OwnWord<Part>] extends [never]
    ? SafeText
    : Part;

/** Its own words are ours; what it takes in must be safe by itself: safe`The secret ${name} was not found`. */
export const safe = <const Parts extends readonly unknown[]>(
  words: TemplateStringsArray,
  ...parts: { [Index in keyof Parts]: SafePart<Parts[Index]> }
): SafeText => {
  let text = words[0] ?? '';
  for (let at = 0; at < parts.length; at += 1) text += `${parts[at]}${words[at + 1]}`;
  return text as SafeText;
};

export const safeList = (texts: readonly SafeText[], separator = ', '): SafeText =>
  texts.join(separator) as SafeText;

/**
 * For what our code says and for what our settings and AWS resources are called: a function, a field of a schema, a time, a secret, a
 * queue, an operation.
 */
export const ownText = (name: string): SafeText => name as SafeText;

/** As in 1,048,576. */
export const inThousands = (count: number): SafeText => ownText(count.toLocaleString('en-US'));

/** For a text that a pattern of ours allows. It must allow no sentence: only words of which we know what they are. */
export const safeMatch = (text: string | undefined, pattern: RegExp): SafeText | undefined =>
  text !== undefined && pattern.test(text) ? (text as SafeText) : undefined;

/** For the name or the code of an error. A server, or a proxy before it, may put any text there: a word of these is no sentence. */
export const errorWord = (name: unknown): SafeText | undefined =>
  typeof name === 'string' ? safeMatch(name, /^[\w.:$-]{1,80}$/) : undefined;

/** For the ids by which a person finds a message: SQS' own, and the event's, which its producer gives and needs back. */
export const messageIdText = (id: string): SafeText => id as SafeText;

/** For a text that was safe when we wrote it, and is read back from a table that nobody else writes. */
export const storedSafeText = (text: string): SafeText => text as SafeText;

/** Logs a warning, with facts of a log line. */
export type Warn = (text: SafeText, facts: Record<string, SafeText | number>) => void;
