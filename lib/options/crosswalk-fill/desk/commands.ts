import { type Command, Option } from 'commander';
import { action } from '../../../desk/cli/action.ts';
import type { Cli } from '../../../desk/cli/command-context.ts';
import { reasonText, wholeNumber } from '../../../desk/cli/options.ts';

export const addCommands = (program: Command, cli: Cli): void => {
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
    .action(action(cli, () => import('./actions.ts'), 'show'));
  crosswalk
    .command('moved')
    .description(
      'lists codes that have moved to another org unit, and user names that passed to another record: what uses them waits',
    )
    .addHelpText('after', examples)
    .action(action(cli, () => import('./actions.ts'), 'moved'));
  crosswalk
    .command('accept')
    .description(
      'accepts that a code belongs to another org unit now, or that both records with a user name are the same person',
    )
    .argument('[name]', 'code of the org unit, or a user name')
    .argument('[more...]', 'further user names')
    .option('--all', 'all user names that passed to another record: you know that each is one person')
    .addOption(
      new Option('--kind <kind>', 'what the name is, if both a code and a user name match')
        .choices(['code', 'user'])
        .conflicts('all'),
    )
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(action(cli, () => import('./actions.ts'), 'accept'));
  crosswalk
    .command('fill')
    .description('fills the crosswalk now, and waits for the result')
    .option(
      '--classlists',
      'also read users from the classlists of all courses, if there is no file of users',
    )
    .option(
      '--accept-removals',
      'remove all names that the sources no longer have, however many: you have checked the sources',
    )
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--wait <minutes>', 'wait at most n minutes for the result', wholeNumber(0, 900), 15)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(action(cli, () => import('./actions.ts'), 'fill'));
};

const examples = `
Examples:
  sis-relay crosswalk show --code MATH-101
  sis-relay crosswalk show --user-name lena.learner
  sis-relay crosswalk moved
  sis-relay crosswalk accept MATH-101 --reason "copied for the new term"
  sis-relay crosswalk accept lena.learner --reason "she has a new record, as she studies again"
  sis-relay crosswalk accept --all --reason "the SIS gave everybody a new record"
  sis-relay crosswalk fill
  sis-relay crosswalk fill --accept-removals --reason "the old courses are gone"

Messages may use these names instead of the platform's ids. The function crosswalk-fill reads them by schedule from
the platform's lists, and from crosswalk/users.csv and crosswalk/org-units.csv in the bucket. Messages with a code
that has moved are parked until a person accepts the move. If the crosswalk gives for a user name of an export the
account of another record, the rows with this name are not used until it gives another account, or a person accepts
that both records are one person.`;
