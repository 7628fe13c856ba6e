import type { Command } from 'commander';
import { loadIntegrations } from '../../deployment/integrations.ts';
import { type PauseChange, pauseFunctions, resumeFunctions } from '../../deployment/pause.ts';
import { plain } from '../../redaction/printable.ts';
import { pauseText } from '../../wording/status.ts';
import { type Cli, contextOf, reasonText } from '../command-context.ts';
import { wrapped } from '../print/table.ts';

type Verb = 'pause' | 'resume';

export const addPause = (program: Command, cli: Cli): void => {
  program
    .command('pause')
    .description('stops the deliveries to functions; their messages stay on their queues')
    .argument('<function...>', 'those that have a queue, by name')
    .requiredOption('--reason <text>', 'why, for the audit log and `status`', reasonText)
    .addHelpText('after', pauseExamples)
    .action(act(cli, 'pause'));
};

export const addResume = (program: Command, cli: Cli): void => {
  program
    .command('resume')
    .description('starts the deliveries to functions that were paused')
    .argument('<function...>', 'those that have a queue, by name')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .addHelpText('after', resumeExamples)
    .action(act(cli, 'resume'));
};

const act =
  (cli: Cli, verb: Verb) =>
  async (functions: string[], { reason }: { reason?: string }, command: Command): Promise<void> => {
    const { target, audit, signal, terminal, print, withProgress, finish } = contextOf(cli, command);
    const known = [...(await loadIntegrations()).keys()];
    const work = verb === 'pause' ? pauseFunctions : resumeFunctions;
    const changes = await withProgress('Asking AWS', () =>
      work(target, { functions, known, reason, audit, signal }),
    );
    print({ functions: changes }, () =>
      [...changes.map((each) => textOf(each, verb)), ...remarks(changes, verb)].flatMap((line) =>
        wrapped(plain(line), terminal.width, '  '),
      ),
    );
    finish(changes.every(({ done }) => done));
  };

const textOf = (change: PauseChange, verb: Verb): string => {
  const { function: name, was, state, done, who } = change;
  if (!done)
    return `${name}: its event-source mapping was ${was} and is ${state}: AWS has not done it yet. \`sis-relay status\` shows when it has.`;
  const told = who === undefined ? '' : ` ${pauseText(change)}`;
  if (verb === 'pause')
    return was === state
      ? `${name} was paused already (${state})${told}`
      : `${name} is paused: its event-source mapping was ${was} and is ${state}.`;
  const ended = who === undefined ? '' : ` It was paused${told}`;
  return was === state
    ? `${name} is not paused (${state}).${ended}`
    : `${name} gets its messages again: its event-source mapping was ${was} and is ${state}.${ended}`;
};

const remarks = (changes: PauseChange[], verb: Verb): string[] =>
  verb === 'resume'
    ? []
    : [
        'What comes stays on the queue, and SQS deletes it 14 days after it was sent. Messages in flight come to their end; replays, edits and `publish` go on putting messages there.',
        `An alarm goes off after a day. To go on: sis-relay resume ${changes.map((each) => each.function).join(' ')}`,
      ];

const pauseExamples = `
Examples:
  sis-relay pause grade-push --reason "the platform recalculates its grades"
  sis-relay pause grade-push grade-object-create --reason "the grade book is being moved"

It disables the function's event-source mapping, waits until AWS has done it, and loses nothing.`;

const resumeExamples = `
Examples:
  sis-relay resume grade-push
  sis-relay resume grade-push --reason "the platform is done"`;
