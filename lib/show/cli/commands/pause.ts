import type { Command } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { reasonText } from '../options.ts';

export const addPause = (program: Command, cli: Cli): void => {
  program
    .command('pause')
    .description('stops the deliveries to functions; their messages stay on their queues')
    .argument('<function...>', 'names of functions that have a queue')
    .requiredOption('--reason <text>', 'why, for the audit log and `status`', reasonText)
    .addHelpText('after', pauseExamples)
    .action(action(cli, async () => ({ act: (await import('../actions/pause.ts')).pause })));
};

export const addResume = (program: Command, cli: Cli): void => {
  program
    .command('resume')
    .description('starts the deliveries to functions that were paused')
    .argument('<function...>', 'names of functions that have a queue')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .addHelpText('after', resumeExamples)
    .action(action(cli, async () => ({ act: (await import('../actions/pause.ts')).resume })));
};

const pauseExamples = `
Examples:
  sis-relay pause grade-push --reason "the platform recalculates its grades"
  sis-relay pause grade-push grade-object-create --reason "the grade book is being moved"

It disables the function's event-source mapping, and waits until AWS has done so. No message is lost.`;

const resumeExamples = `
Examples:
  sis-relay resume grade-push
  sis-relay resume grade-push --reason "the platform is done"`;
