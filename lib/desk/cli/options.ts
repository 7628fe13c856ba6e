import { type Command, InvalidArgumentError, Option } from 'commander';
import { letterKinds } from '../../message/failure-kinds.ts';
import { UsageError } from '../../stage/command-errors.ts';
import { nearest } from '../../stage/nearest.ts';
import { isCommandName, type Role, roleOf } from '../../stage/roles.ts';
import { optionOf } from '../views/filter-options.ts';

/** Options that choose a deployment on AWS, or a part of it. */
const onAws = ['stage', 'deadLetters', 'bucket', 'profile', 'region'] as const;

/** @throws UsageError if both are given: one of the two would be ignored. */
export const checkPlace = (given: Record<string, unknown>): void => {
  const local = ['local', 'stack'].find((name) => given[name] !== undefined);
  const options = onAws.filter((name) => given[name] !== undefined).map(optionOf);
  if (local === undefined || options.length === 0) return;
  throw new UsageError(
    `${optionOf(local)} works on a stack of this machine, and ${options.join(' and ')} on a deployment on AWS. Pass one or the other.`,
  );
};

export const globalOptions = (): Option[] => [
  new Option('--stage <name>', 'the stage to work on (environment: SIS_RELAY_STAGE)'),
  new Option('--local', 'work on the stack that `npm run local` runs on this machine'),
  new Option('--stack <file>', 'like --local, for the stack that this file describes'),
  new Option('--dead-letters <url>', 'address of the dead-letter queue (environment: DEAD_LETTER_QUEUE_URL)'),
  new Option('--bucket <name>', 'bucket of the audit log and of archives (environment: SIS_RELAY_BUCKET)'),
  new Option('--profile <name>', 'profile of the AWS configuration'),
  new Option('--region <name>', 'AWS region (environment: AWS_REGION); default: that in the stage’s file'),
  new Option('--as <name>', 'who you are, for the audit log; default: the user of this machine'),
  new Option('--lease <seconds>', 'how long letters stay hidden from others if this process dies')
    .default(60)
    .argParser(wholeNumber(2, 43_200)),
  new Option('--json', 'print one JSON document; all else goes to standard error'),
];

export function wholeNumber(from: number, to: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= from && number <= to) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${from} to ${to}.`);
  };
}

/** The reason for the audit log. */
export const reasonText = (text: string): string => {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('It must not be empty: say why.');
};

/** Values of an option that may be repeated, and that may hold several values separated by commas. */
const listed = (text: string, before: string[] = []): string[] => [
  ...before,
  ...text.split(',').flatMap((each) => each.trim() || []),
];

export const kinds = (text: string, before?: string[]): string[] => {
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

/** The filter options, the same for every command. */
export const addFilterOptions = (command: Command): Command =>
  command
    .optionsGroup('Which letters (default: all; every filter must match, and of a list one value):')
    .option('--function <name...>', 'of these functions, as in grade-push,org-unit-move', listed)
    .option('--kind <kind...>', `of these kinds: ${letterKinds.join(', ')}`, kinds)
    .option('--status <status...>', 'refused by the platform with this HTTP status, as in 403,5xx', listed)
    .option(
      '--cause <id>',
      'of this cause: its id in `letters groups`, or several as in 1f2e3d4c,5a6b7c8d',
      listed,
    )
    .option('--error <text>', 'whose error holds this text')
    .option('--org-unit <id>', 'whose message is about this org unit, by its id or the SIS’ code')
    .option('--user <id>', 'whose message is about this user, by its id or the SIS’ name for the user')
    .option('--since <time>', 'not older than a time or an age, as in 2026-01-31T09:30Z, 90m, 36h, 3d')
    .option('--until <time>', 'not newer than that')
    .option('--min-replays <n>', 'replayed n times or more')
    .option('--max-replays <n>', 'replayed n times or fewer')
    .option('--id <id...>', 'with these ids or ids of their messages, or beginnings of them', listed)
    .optionsGroup('Options:');

/** The role that a command needs; undefined: it needs none, or several. */
export const roleFor = (command: Command): Role | undefined => {
  const words: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) words.unshift(at.name());
  const name = words.join(' ');
  return isCommandName(name) ? roleOf[name] : undefined;
};
