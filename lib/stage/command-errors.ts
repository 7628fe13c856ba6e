import { errorName } from '../runtime/aws/error.ts';
import { errorCode, logText } from '../runtime/privacy/log-text.ts';

/** `inBrowser`: the console's sentence, if the message names what only a terminal has, such as an option. */
type CommandErrorOptions = ErrorOptions & { inBrowser?: string };

class CommandError extends Error {
  readonly inBrowser: string;

  constructor(message: string, { inBrowser = message, ...options }: CommandErrorOptions = {}) {
    super(message, options);
    this.inBrowser = inBrowser;
  }
}

/** The request cannot or must not be fulfilled: exit status 1. */
export class RefusedError extends CommandError {
  override name = 'RefusedError';
}

/** The request itself is wrong: exit status 2. */
export class UsageError extends CommandError {
  override name = 'UsageError';
}

/** Why something was not found out, beside what was; a result may be shown by the command and the console, so it names no option. */
export const whyNot = (error: unknown): string => {
  if (error instanceof RefusedError) return error.inBrowser;
  // Node's own words are a call of its system and an address.
  if (isUnanswered(error)) return `no answer (${errorCode(error)})`;
  return `${errorName(error)}: ${logText(error instanceof Error ? error.message : String(error))}`;
};

/** The SDK gives even an error of the network its metadata. */
const isUnanswered = (error: unknown): boolean =>
  error instanceof Error && '$metadata' in error && /^E[A-Z_]+$/.test(errorCode(error));
