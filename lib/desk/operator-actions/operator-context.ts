import type { Audit } from '../../stage/audit.ts';
import type { Target } from '../../stage/target.ts';
import type { Field, View } from '../views/view.ts';

/** The fields of the question's form. */
export type Answer = { [field: string]: string | undefined };

export type Question = {
  /** A sentence before the question. */
  text?: string;
  /** The console's sentence, if it is another. */
  hint?: string;
  /** The text of the button that agrees. A terminal asks `Send 3 letters? [y/N]`. */
  act: string;
  /** Only for the console. */
  fields?: readonly Field[];
  /** --yes does not agree to it; without a terminal, it is declined, and the rest is done. */
  isOptional?: true;
  /** The option by which a script agrees: --yes does not, and without a terminal it is named. */
  ownOption?: string;
  /** What to know before agreeing, beside the button. Only for the console: a terminal has the plan right above. */
  warnings?: View;
  /** The letters that it is about: when all of them are gone, the question is withdrawn. */
  letters?: readonly string[];
  /** What it does is not undone by itself. */
  isDestructive?: boolean;
};

/** The person who carries out a verb, at a terminal or in a run of the console. */
export type OperatorContext = {
  target: Target;
  audit: Audit;
  signal: AbortSignal;
  /** `document`: what --json prints of it; default: nothing. */
  show(title: string, content: View, document?: object): void;
  /** Only in the console: shows it in place of what has the same title. */
  renew(title: string, content: View): void;
  progress(what: string): (done: number, of: number) => void;
  /** Undefined: it was declined. */
  ask(question: Question): Promise<Answer | undefined>;
};
