import { type Command, Option } from 'commander';
import { acceptMove, listMoved, showName } from '../../crosswalk/names/names.ts';
import { UsageError } from '../../deployment/command-errors.ts';
import { type Cli, contextOf, reasonText } from '../command-context.ts';
import { acceptedLines, acceptQuestion, movedLines, nameLines } from '../print/crosswalk.ts';

export const addCrosswalk = (program: Command, cli: Cli): void => {
  const crosswalk = program
    .command('crosswalk')
    .description('what the SIS’ names of org units and users stand for on the platform')
    .addHelpText('after', examples);
  crosswalk
    .command('show')
    .description('what a name stands for, from what, since when')
    .addOption(new Option('--code <code>', 'of an org unit').conflicts(['userName', 'orgDefinedId']))
    .addOption(new Option('--user-name <name>', 'of a user').conflicts('orgDefinedId'))
    .option('--org-defined-id <id>', 'of a user')
    .addHelpText('after', examples)
    .action(async (options: Named, command: Command) => {
      const { target, terminal, print, finish } = contextOf(cli, command);
      const names = await showName(target, nameIn(options));
      print({ names }, () => nameLines(names, terminal));
      finish(names.length > 0);
    });
  crosswalk
    .command('moved')
    .description('lists codes that stand for another org unit than before: messages with them are parked')
    .addHelpText('after', examples)
    .action(async (_options: object, command: Command) => {
      const { target, terminal, print, finish } = contextOf(cli, command);
      const listed = await listMoved(target);
      print(listed, () => movedLines(listed, terminal));
      finish(listed.moved.length > 0);
    });
  crosswalk
    .command('accept')
    .description('accepts that a code stands for another org unit than before')
    .argument('<code>', 'of the org unit')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(async (code: string, { reason }: { reason?: string }, command: Command) => {
      const { target, audit, terminal, print, agreed, finish } = contextOf(cli, command);
      const accepted = await acceptMove(target, {
        ...{ code, reason, audit },
        confirm: (moved) => agreed(acceptQuestion(moved)),
      });
      if (accepted) print({ accepted }, () => acceptedLines(accepted, terminal));
      finish(accepted !== undefined);
    });
};

type Named = { code?: string; userName?: string; orgDefinedId?: string };

const nameIn = ({ code, userName, orgDefinedId }: Named) => {
  if (code !== undefined) return { kind: 'orgUnitCode', name: code } as const;
  if (userName !== undefined) return { kind: 'userName', name: userName } as const;
  if (orgDefinedId !== undefined) return { kind: 'orgDefinedId', name: orgDefinedId } as const;
  throw new UsageError('Which name? Give --code, --user-name or --org-defined-id.');
};

const examples = `
Examples:
  sis-relay crosswalk show --code MATH-101
  sis-relay crosswalk show --user-name lena.learner
  sis-relay crosswalk moved
  sis-relay crosswalk accept MATH-101 --reason "copied for the new term"

A message may give these names in place of the platform's ids. crosswalk-fill learns them, by schedule, from the
platform's lists and from crosswalk/users.csv and crosswalk/org-units.csv in the bucket. Messages with a code that
moved are parked until a person accepts the move.`;
