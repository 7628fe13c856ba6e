import type { Command } from 'commander';
import { type Filter, filterSchema } from '../../operate/messages/letters/filter.ts';
import { type Audit, checkAudit, createAudit } from '../../operate/stage/audit.ts';
import { readCaller } from '../../operate/stage/caller.ts';
import { RefusedError, UsageError } from '../../operate/stage/command-errors.ts';
import { readStack } from '../../operate/stage/stack-outputs.ts';
import { isNamed, type Target, type TargetOptions, targetFrom } from '../../operate/stage/target.ts';
import { printableJson } from '../../runtime/privacy/printable.ts';
import type { View } from '../views/view.ts';
import { globalOptions, optionOf } from './options.ts';
import { type Print, printOf, textOfLines } from './print/document.ts';
import { errorSentence } from './print/error-sentence.ts';
import { createBar, createProgress, type Progress } from './print/progress.ts';
import type { Terminal } from './print/terminal.ts';
import { linesOf } from './print/view.ts';

/** What all commands share. */
export type Cli = {
  terminal: Terminal;
  /** False: there was nothing to do, or not everything was done. */
  finish(isDone: boolean): void;
  /** Adds members to the document that --json prints when the command ends. */
  collect(document: unknown): void;
};

/** What one command works with, as typed; its options are checked when they are read. */
export type CommandContext = Cli & {
  signal: AbortSignal;
  isJson: boolean;
  /** The options that name a deployment, as typed. */
  readonly targetOptions: TargetOptions;
  /** The deployment that the options name. @throws UsageError if they name none. */
  readonly target: Target;
  /** Undefined: no option names a deployment. */
  readonly targetIfNamed: Target | undefined;
  /** The filter that the options give. @throws UsageError naming the option that is wrong. */
  readonly filter: Filter;
  /** Call it before letters are read for a change. @throws if the audit log could not be written. */
  checkAudit(): Promise<void>;
  /** The audit log of the target. When a change begins, the command prints where it is recorded. */
  readonly audit: Audit;
  print: Print;
  /** Prints to standard error. */
  say(view: View): void;
  /** Asks for confirmation of a change; --yes confirms. @throws RefusedError if there is no terminal to ask on. */
  agreed(question: string): Promise<boolean>;
  /** Shows progress in a line, which is cleared at the end. */
  withProgress<Value>(what: string, work: (show: Progress['show']) => Promise<Value>): Promise<Value>;
  /** Shows progress as a bar, by a share from 0 to 1; only on a terminal. */
  withBar<Value>(what: string, work: (show: (share: number) => void) => Promise<Value>): Promise<Value>;
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
  return {
    ...cli,
    ...{ terminal, finish, signal: terminal.signal, isJson },
    say: (view) => terminal.err(textOfLines(linesOf(view, terminal))),
    print: printOf({ ...cli, terminal }, { json: isJson }),
    get targetOptions() {
      return targetOptionsOf(command);
    },
    get target() {
      return targetOnce();
    },
    get targetIfNamed() {
      return isNamed(targetOptionsOf(command)) ? targetOnce() : undefined;
    },
    get filter() {
      return filterOf(command);
    },
    checkAudit: () => checkAudit(targetOnce()),
    get audit() {
      return createAudit(targetOnce(), ({ moment, id, who }) => {
        if (moment === 'begin') terminal.err(`Recorded as ${id} by ${who}.\n`);
      });
    },
    agreed: async (question) => {
      if (yes) return true;
      const answer = isJson ? undefined : await terminal.ask(`${question} [y/N] `);
      if (answer === undefined)
        throw new RefusedError(
          'Nothing was changed: this needs confirmation, and there is no terminal to ask on. Pass --yes to confirm.',
        );
      if (isYes(answer)) return true;
      terminal.err('Nothing was changed.\n');
      return false;
    },
    withProgress: (what, work) => whileShown(createProgress(terminal, what), work),
    withBar: (what, work) => whileShown(createBar(terminal, what), work),
    sentence: (error) => errorSentence(error, command.optsWithGlobals()),
    besideData: () => contextOf(besideData(cli), command),
  };
};

const whileShown = async <Show, Value>(
  { show, end }: { show: Show; end(): void },
  work: (show: Show) => Promise<Value>,
): Promise<Value> => {
  try {
    return await work(show);
  } finally {
    end();
  }
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

const quoted = (text: string): string =>
  /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const targetOptionsOf = (command: Command): TargetOptions => {
  const { local, stack, lease, ...options } = command.optsWithGlobals();
  return { ...options, local: stack ?? (local ? true : undefined), leaseSeconds: lease };
};

const targetOf = (command: Command, warn: (sentence: string) => void): Target =>
  targetFrom({ ...targetOptionsOf(command), ...{ readStack, readCaller, warn } });

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
