import { withoutSecrets } from './secrets.ts';

const maxText = 500;
const maxStack = 4_000;
/** The rest of a text is not searched. It could not be logged anyway. */
const maxRead = 8_000;

/** A text as it may be logged: bounded, without secrets, queries and quoted bodies. */
export const logText = (text: string, maxLength = maxText): string =>
  withoutSecrets(withoutQuotedBody(text.slice(0, maxRead)), maxLength);

/** The error of JSON.parse quotes the text that it could not read, which may be a message. */
const withoutQuotedBody = (text: string): string =>
  text.replace(
    /(?:Unexpected token '[\s\S]{1,2}', )?(?:\.{3})?"[\s\S]{0,60}?"(?:\.{3})? is not valid JSON/g,
    'not valid JSON',
  );

type ErrorFacts = {
  name: string;
  message?: string;
  code?: string;
  stack?: string;
  cause?: ErrorFacts;
};

/** An error without the fields that libraries add to it: requests with headers and queries, inputs, answers. */
export const errorFactsOf = (error: unknown): ErrorFacts => {
  if (!(error instanceof Error)) return { name: `a thrown ${typeof error}` };
  // The stack begins with the message, which is there already.
  const frames = String(error.stack).indexOf('\n    at ');
  return {
    ...headOf(error),
    ...(frames < 0 ? {} : { stack: logText(String(error.stack).slice(frames + 1), maxStack) }),
    ...(error.cause instanceof Error ? { cause: headOf(error.cause) } : {}),
  };
};

const headOf = (error: Error): ErrorFacts => ({
  name: isWord(error.name) ? error.name : 'Error',
  message: logText(String(error.message)),
  ...('code' in error && isWord(error.code) ? { code: error.code } : {}),
});

const isWord = (value: unknown): value is string =>
  typeof value === 'string' && /^[\w.$-]{1,80}$/.test(value);

/** One word for an error, safe for any log: the messages of libraries may repeat what was asked for. */
export const errorCode = (error: unknown): string => {
  if (!(error instanceof Error)) return typeof error;
  // The code of a signal's error is a number.
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
};
