import type { Command } from 'commander';
import type { OptionDesk } from '../../option.ts';
import { printableJson } from '../../runtime/privacy/printable.ts';
import { checkAudit, createAudit } from '../../stage/audit.ts';
import { readCaller } from '../../stage/caller.ts';
import { RefusedError, UsageError } from '../../stage/command-errors.ts';
import { readStack } from '../../stage/stack-outputs.ts';
import { isNamed, type Target, type TargetOptions, targetFrom } from '../../stage/target.ts';
import { type Filter, filterSchema } from '../messages/letters/filter.ts';
import type { OperatorContext, Question } from '../operator-actions/operator-context.ts';
import { optionOf } from '../views/filter-options.ts';
import { quoted } from '../views/quoted.ts';
import { text, type View } from '../views/view.ts';
import { globalOptions, roleFor } from './options.ts';
import { errorSentence } from './print/error-sentence.ts';
import { createBar, createProgress } from './print/progress.ts';
import type { Terminal } from './print/terminal.ts';
import { linesOf, type Print, printOf, textOfLines } from './print/view.ts';

/** What all commands share. */
export type Cli = {
  terminal: Terminal;
  /** What the options add. */
  desks: readonly OptionDesk[];
  /** False: there was nothing to do, or not everything was done. */
  finish(isDone: boolean): void;
  /** Adds members to the document that --json prints when the command ends. */
  collect(document: unknown): void;
  /** Prints to standard error after all else. */
  sayLast(text: string): void;
};

/** What one command works with, as typed; its options are checked when they are read. The operator sits at the terminal. */
export type CommandContext = Cli &
  OperatorContext & {
    isJson: boolean;
    /** The options that name a deployment, as typed. */
    readonly targetOptions: TargetOptions;
    /** Undefined: no option names a deployment. The `target` that the options name @throws UsageError then. */
    readonly targetIfNamed: Target | undefined;
    /** The name of the deployment, as in `sis-relay-prod`. */
    readonly name: string;
    /** The filter that the options give. @throws UsageError naming the option that is wrong. */
    readonly filter: Filter;
    /** Call it before anything is read for a change. @throws RefusedError if the role of the command is lacking. */
    checkAudit(): Promise<void>;
    print: Print;
    /** Prints to standard error. */
    say(view: View): void;
    /** Asks for confirmation of a change; --yes confirms. @throws RefusedError if there is no terminal to ask on. */
    agreed(question: string): Promise<boolean>;
    /** Shows progress as a bar, by a share from 0 to 1; only on a terminal. */
    bar(what: string): (share: number) => void;
    /** Describes an error. */
    sentence(error: unknown): string;
    /** For a command that writes data to standard output: everything else goes to standard error. */
    besideData(): CommandContext;
  };

/** Its commands to type next name the same deployment. */
export const terminalFor = (command: Command, terminal: Terminal): Terminal => ({
  ...terminal,
  command: (words) => [terminal.command(words), ...optionsGiven(command)].join(' '),
});

export const contextOf = (cli: Cli, command: Command): CommandContext => {
  const { finish } = cli;
  const terminal = terminalFor(command, cli.terminal);
  const { json: isJson = false, yes = false } = command.optsWithGlobals();
  let target: Target | undefined;
  const targetOnce = (): Target => {
    target ??= targetOf(command, (sentence) => terminal.err(`${sentence}\n`));
    return target;
  };
  let hasPrinted = false;
  const printing = printOf({ ...cli, terminal }, { json: isJson });
  const print: Print = (document, says) => {
    hasPrinted = true;
    printing(document, says);
  };
  const show: OperatorContext['show'] = (_, content, document) => {
    if (!isJson || document !== undefined) print(document, () => content);
  };
  const agreed = async (question: string, option = '--yes'): Promise<boolean> => {
    if (yes && option === '--yes') return true;
    const answer = isJson ? undefined : await terminal.ask(`${question} [y/N] `);
    if (answer === undefined)
      throw new RefusedError(
        `Nothing was changed: this needs ${option === '--yes' ? 'confirmation' : 'a confirmation of its own'}, and there is no terminal to ask on. Pass ${option} to confirm.`,
      );
    if (isYes(answer)) return true;
    terminal.err('Nothing was changed.\n');
    return false;
  };
  return {
    ...cli,
    terminal,
    finish,
    signal: terminal.signal,
    isJson,
    print,
    show,
    agreed,
    say: (view) => terminal.err(textOfLines(linesOf(view, terminal))),
    get target() {
      return targetOnce();
    },
    get targetOptions() {
      return targetOptionsOf(command);
    },
    get targetIfNamed() {
      return isNamed(targetOptionsOf(command)) ? targetOnce() : undefined;
    },
    get name() {
      return targetOnce().prefix.slice(0, -1);
    },
    get filter() {
      return filterOf(command);
    },
    checkAudit: async () => {
      const role = roleFor(command);
      if (role !== undefined) await checkAudit(targetOnce(), role);
    },
    /** When a change begins, it prints where it is recorded; if no plan was printed, after what was done. */
    get audit() {
      return createAudit(targetOnce(), ({ moment, id, who }) => {
        const say = isJson || hasPrinted ? terminal.err : cli.sayLast;
        if (moment === 'begin') say(`Recorded as ${id} by ${who}.\n`);
      });
    },
    renew: () => {},
    progress: (what) => createProgress(terminal, what),
    bar: (what) => createBar(terminal, what),
    ask: async (question) => {
      const { text: sentence, act, isOptional = false, ownOption } = question;
      if (sentence !== undefined) show('', [text(sentence)]);
      const isAgreed = isOptional
        ? await agreedIfAsked({ terminal, isJson }, question)
        : await agreed(`${act}?`, ownOption);
      return isAgreed ? {} : undefined;
    },
    sentence: (error) => errorSentence(error, command.optsWithGlobals(), roleFor(command)),
    besideData: () => contextOf(besideData(cli), command),
  };
};

/** Where nobody can be asked, it is declined, and says so. */
const agreedIfAsked = async (
  { terminal, isJson }: Pick<CommandContext, 'terminal' | 'isJson'>,
  { act, ownOption }: Pick<Question, 'act' | 'ownOption'>,
): Promise<boolean> => {
  const answer = isJson ? undefined : await terminal.ask(`${act}? [y/N] `);
  if (answer !== undefined) return isYes(answer);
  const way = ownOption === undefined ? '' : ` Pass ${ownOption} to confirm.`;
  terminal.err(`Not done, as there is no terminal to ask on: ${act}.${way}\n`);
  return false;
};

const besideData = (cli: Cli): Cli => ({
  ...cli,
  terminal: { ...cli.terminal, out: cli.terminal.err },
  collect: (document) => cli.terminal.err(`${printableJson(document)}\n`),
});

export const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim());

/** The options that name the deployment, as typed. */
const optionsGiven = (command: Command): string[] => {
  const given: Record<string, unknown> = command.optsWithGlobals();
  return globalOptions().flatMap((option) => {
    const value = given[option.attributeName()];
    if (!namingDeployment.has(option.attributeName()) || value === undefined) return [];
    return [value === true ? `${option.long}` : `${option.long} ${quoted(String(value))}`];
  });
};

const namingDeployment = new Set(['local', 'stack', 'stage', 'deadLetters', 'bucket', 'profile', 'region']);

const targetOptionsOf = (command: Command): TargetOptions => {
  const { local, stack, lease, ...options } = command.optsWithGlobals();
  return { ...options, local: stack ?? (local ? true : undefined), leaseSeconds: lease };
};

const targetOf = (command: Command, warn: (sentence: string) => void): Target =>
  targetFrom({ ...targetOptionsOf(command), readStack, readCaller, warn });

const filterOf = (command: Command): Filter => {
  const given = command.opts();
  const named = Object.fromEntries(
    Object.keys(filterSchema.shape).flatMap((name) => (name in given ? [[name, given[name]]] : [])),
  );
  const parsed = filterSchema.safeParse(named);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${optionOf(String(path[0]))} ${message}`);
  throw new UsageError(problems.join('\n'));
};
