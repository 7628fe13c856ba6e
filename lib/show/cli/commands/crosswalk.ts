import { type Command, Option } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { reasonText, wholeNumber } from '../options.ts';

export const addCrosswalk = (program: Command, cli: Cli): void => {
  const crosswalk = program
    .command('crosswalk')
    .description('shows and fills what the SIS’ names stand for: org units and users of the platform')
    .addHelpText('after', examples);
  crosswalk
    .command('show')
    .description('shows what a name stands for, where that comes from, and since when')
    .addOption(new Option('--code <code>', 'code of an org unit').conflicts(['userName', 'orgDefinedId']))
    .addOption(new Option('--user-name <name>', 'user name of a user').conflicts('orgDefinedId'))
    .option('--org-defined-id <id>', 'org-defined id of a user')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/crosswalk/show.ts')));
  crosswalk
    .command('moved')
    .description('lists codes that have moved to another org unit; messages with them are parked')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/crosswalk/moved.ts')));
  crosswalk
    .command('accept')
    .description('accepts that a code has moved to another org unit')
    .argument('<code>', 'code of the org unit')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/crosswalk/accept.ts')));
  crosswalk
    .command('fill')
    .description('fills the crosswalk now, and waits for the result')
    .option(
      '--classlists',
      'also read users from the classlists of all courses, if there is no file of users',
    )
    .option('--accept-removals', 'remove what the sources lack, however much it is: you have checked them')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--wait <minutes>', 'wait at most n minutes for the result', wholeNumber(0, 900), 15)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/crosswalk/fill.ts')));
};

const examples = `
Examples:
  sis-relay crosswalk show --code MATH-101
  sis-relay crosswalk show --user-name lena.learner
  sis-relay crosswalk moved
  sis-relay crosswalk accept MATH-101 --reason "copied for the new term"
  sis-relay crosswalk fill
  sis-relay crosswalk fill --accept-removals --reason "the old courses are gone"

Messages may use these names instead of the platform's ids. The function crosswalk-fill reads them by schedule from
the platform's lists, and from crosswalk/users.csv and crosswalk/org-units.csv in the bucket. Messages with a code
that has moved are parked until a person accepts the move.`;
