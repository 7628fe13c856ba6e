import { errorWord, type SafeText, safe } from '../../message/safe-text.ts';
import { withoutFileNames } from './file-name.ts';
import { withoutSecrets } from './secrets.ts';

const maxText = 500;
const maxStack = 4_000;
/** The rest of a text is not searched. It could not be logged anyway. */
const maxRead = 8_000;

/** The second line of defence, after `SafeText`: a text as it is logged, bounded, without secrets, queries and quoted bodies. */
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

const headOf = (error: Error): ErrorFacts => {
  const code = 'code' in error ? errorWord(error.code) : undefined;
  return {
    name: errorWord(error.name) ?? 'Error',
    message: withoutFileNames(logText(String(error.message))),
    ...(code !== undefined && { code }),
  };
};

/** One word for an error, safe for any log: the messages of libraries may repeat what was asked for. */
export const errorCode = (error: unknown): SafeText => {
  if (!(error instanceof Error)) return safe`${typeof error}`;
  // The code of a signal's error is a number.
  return (
    errorWord('code' in error && typeof error.code === 'string' ? error.code : error.name) ?? safe`Error`
  );
};
