import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Filter, filterSchema } from '../dead-letters/reading/filter.ts';
import { type Audit, checkAudit, createAudit } from '../deployment/audit.ts';
import { readCaller } from '../deployment/caller.ts';
import { RefusedError, UsageError } from '../deployment/command-errors.ts';
import { nearest } from '../deployment/nearest.ts';
import { readStack } from '../deployment/stack-outputs.ts';
import { type Target, targetFrom } from '../deployment/target.ts';
import { letterKinds } from '../desk/letter-kinds.ts';
import { printableJson } from '../redaction/printable.ts';
import { createProgress, type Progress } from './print/progress.ts';
import type { Terminal } from './print/terminal.ts';

/** What all commands share. */
export type Cli = {
  terminal: Terminal;
  /** False: there was nothing, or not all was done. */
  finish(isDone: boolean): void;
  /** Members of the one document that --json prints when the command ends. */
  collect(document: unknown): void;
};

/** What one command works with, as it was typed; its options are checked when they are read. */
export type CommandContext = Cli & {
  signal: AbortSignal;
  isJson: boolean;
  /** The deployment that the options name. @throws UsageError where they name none. */
  readonly target: Target;
  /** Which letters the options name. @throws UsageError naming the option that is wrong. */
  readonly filter: Filter;
  /** Before letters are read for a change: @throws where the audit log could not be written. */
  checkAudit(): Promise<void>;
  /** The audit log of the target; its entries are printed to standard error, too. */
  readonly audit: Audit;
  /**
   * Prints the lines; where JSON was asked for, nothing but one document is printed, at the end. Of several prints it has the
   * members of all: `print({ plan }, …)` and later `print({ result }, …)` make `{ plan, result }`.
   */
  print(document: unknown, lines: () => string[]): void;
  /** Asks before something is changed; with --yes nobody is asked. @throws RefusedError where there is nobody to ask. */
  agreed(question: string): Promise<boolean>;
  /** Shows how far the work is, and clears that line at the end. */
  withProgress<Value>(what: string, work: (show: Progress['show']) => Promise<Value>): Promise<Value>;
};

export const contextOf = (cli: Cli, command: Command): CommandContext => {
  const { finish } = cli;
  const terminal = {
    ...cli.terminal,
    command: (words: string) => [`sis-relay ${words}`, ...optionsGiven(command)].join(' '),
  };
  const { json: isJson = false, yes = false } = command.optsWithGlobals();
  let target: Target | undefined;
  const targetOnce = (): Target => {
    target ??= targetOf(command, (sentence) => terminal.err(`${sentence}\n`));
    return target;
  };
  const print: CommandContext['print'] = (document, lines) =>
    isJson ? cli.collect(document) : terminal.out(textOfLines(lines()));
  return {
    ...cli,
    ...{ terminal, finish, signal: terminal.signal, isJson, print },
    get target() {
      return targetOnce();
    },
    get filter() {
      return filterOf(command);
    },
    checkAudit: () => checkAudit(targetOnce()),
    get audit() {
      return createAudit(targetOnce(), (line) => terminal.err(`${line}\n`));
    },
    agreed: async (question) => {
      if (yes) return true;
      const answer = isJson ? undefined : await terminal.ask(`${question} [y/N] `);
      if (answer === undefined)
        throw new RefusedError('Nobody can be asked here, so nothing was changed: give --yes.');
      if (isYes(answer)) return true;
      terminal.err('Nothing was changed.\n');
      return false;
    },
    withProgress: async (what, work) => {
      const progress = createProgress(terminal, what);
      try {
        return await work(progress.show);
      } finally {
        progress.end();
      }
    },
  };
};

/** For a command whose data takes standard output: all that it says goes to standard error. */
export const besideData = (cli: Cli): Cli => ({
  ...cli,
  terminal: { ...cli.terminal, out: cli.terminal.err },
  collect: (document) => cli.terminal.err(`${printableJson(document)}\n`),
});

export const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim());

export const textOfLines = (lines: string[]): string => lines.map((line) => `${line}\n`).join('');

/** They name another deployment than --local does. */
const elsewhere = ['stage', 'deadLetters', 'profile'];

export const globalOptions = (): Option[] => [
  new Option('--stage <name>', 'the stage to work on (environment: SIS_RELAY_STAGE)'),
  new Option('--local', 'work on the one that `npm run local` runs on this machine').conflicts(elsewhere),
  new Option('--stack <file>', 'like --local, for the one that this file describes').conflicts(elsewhere),
  new Option('--dead-letters <url>', 'address of the dead-letter queue (environment: DEAD_LETTER_QUEUE_URL)'),
  new Option('--bucket <name>', 'bucket of the audit log and of archives (environment: SIS_RELAY_BUCKET)'),
  new Option('--profile <name>', 'profile of the AWS configuration'),
  new Option('--region <name>', 'AWS region'),
  new Option('--as <name>', 'who you are, for the audit log; default: the user of this machine'),
  new Option('--lease <seconds>', 'how long letters stay hidden from others if this process dies')
    .default(60)
    .argParser(wholeNumber(2, 43_200)),
  new Option('--json', 'print one JSON document; all else goes to standard error'),
];

/** What names the deployment, as it was typed. */
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

const targetOf = (command: Command, warn: (sentence: string) => void): Target => {
  const { local, stack, lease, ...options } = command.optsWithGlobals();
  return targetFrom({
    ...options,
    local: stack ?? (local ? true : undefined),
    leaseSeconds: lease,
    ...{ readStack, readCaller, warn },
  });
};

export function wholeNumber(from: number, to: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= from && number <= to) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${from} to ${to}.`);
  };
}

/** Why, for the audit log. */
export const reasonText = (text: string): string => {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('It must say why.');
};

/** Values of an option that may be given more than once, and several at once with commas. */
const listed = (text: string, before: string[] = []): string[] => [
  ...before,
  ...text.split(',').flatMap((each) => each.trim() || []),
];

const kinds = (text: string, before?: string[]): string[] => {
  const all = listed(text, before);
  for (const kind of all) {
    const near = nearest(kind, letterKinds);
    if (!letterKinds.some((each) => each === kind))
      throw new InvalidArgumentError(
        `There is no kind ${kind}${near === undefined ? '.' : `: did you mean ${near}?`} It must be one of ${letterKinds.join(', ')}.`,
      );
  }
  return all;
};

/** The conditions by which letters are chosen, the same for every command. */
export const addFilterOptions = (command: Command): Command =>
  command
    .optionsGroup('Which letters (all by default; every condition must hold, of a list one):')
    .option('--function <name...>', 'of these functions, as in grade-push,org-unit-move', listed)
    .option('--kind <kind...>', `of these kinds: ${letterKinds.join(', ')}`, kinds)
    .option('--status <status...>', 'refused by the platform with this HTTP status, as in 403,5xx', listed)
    .option('--cause <id>', 'of this cause, as `letters groups --json` names it')
    .option('--error <text>', 'whose error holds this text')
    .option('--org-unit <id>', 'whose message is about this org unit, by its id or the SIS’ code')
    .option('--user <id>', 'whose message is about this user, by the id, or what the SIS calls the user')
    .option('--since <time>', 'not older than a time or an age, as in 2026-01-31T09:30Z, 90m, 36h, 3d')
    .option('--until <time>', 'not newer than that')
    .option('--min-replays <n>', 'replayed n times or more')
    .option('--max-replays <n>', 'replayed n times or less')
    .option('--id <id...>', 'with these ids, or beginnings of them, or ids of their messages', listed)
    .optionsGroup('Options:');

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

const optionOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
