import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { UsageError } from '../deployment/command-errors.ts';
import { type Cli, globalOptions } from './command-context.ts';
import { addAuthUrl } from './commands/auth-url.ts';
import { addDiscard } from './commands/letters/discard.ts';
import { addEdit } from './commands/letters/edit.ts';
import { addExport } from './commands/letters/export.ts';
import { addGroups } from './commands/letters/groups.ts';
import { addImport } from './commands/letters/import.ts';
import { addList } from './commands/letters/list.ts';
import { addReplay } from './commands/letters/replay.ts';
import { addShow } from './commands/letters/show.ts';
import { addPublish } from './commands/publish.ts';
import { addScopes } from './commands/scopes.ts';
import { addStatus } from './commands/status.ts';
import { wrapped } from './print/table.ts';
import { guarded, type Terminal } from './print/terminal.ts';
import { errorSentence } from './sentence.ts';

/** 0: done. 1: there was nothing, or it was refused, or not all was done. 2: it was asked wrongly. */
export const run = async (args: string[], given: Terminal): Promise<number> => {
  const terminal = guarded(given);
  let done = true;
  const cli: Cli = {
    terminal,
    finish: (isDone) => {
      done = isDone;
    },
  };
  const program = new Command('sis-relay')
    .description('Shows, corrects and replays dead letters, publishes messages, and shows how everything is.')
    .version(version())
    .configureOutput({
      writeOut: terminal.out,
      writeErr: terminal.err,
      getOutHelpWidth: () => terminal.width,
      getErrHelpWidth: () => terminal.width,
    })
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .showHelpAfterError('(see --help)')
    .addHelpText('after', examples);
  for (const option of globalOptions()) program.addOption(option);
  const letters = program
    .command('letters')
    .description('the letters in the dead-letter queue')
    .addHelpText('after', letterExamples);
  for (const add of [addGroups, addList, addShow, addReplay, addEdit, addDiscard, addExport, addImport])
    add(letters, cli);
  for (const add of [addStatus, addPublish, addScopes, addAuthUrl]) add(program, cli);

  try {
    await program.parseAsync(args, { from: 'user' });
    return done ? 0 : 1;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    terminal.err(
      `${errorSentence(error, program.opts())
        .split('\n')
        .flatMap((line) => wrapped(line, terminal.width))
        .join('\n')}\n`,
    );
    return error instanceof UsageError ? 2 : 1;
  }
};

const version = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

const examples = `
Examples:
  sis-relay status --stage prod                 how everything is
  sis-relay letters groups --stage prod         what failed, how often, and who must do what
  sis-relay letters replay --kind unavailable   sends what failed for that reason again
  sis-relay publish grades.csv --function grade-push --dry-run
  sis-relay scopes                              which OAuth scopes to ask for

It uses the AWS configuration of this machine, as the AWS CLI does.
Exit status: 0 done, 1 nothing to do or refused, 2 asked wrongly.`;

const letterExamples = `
Examples:
  sis-relay letters groups                          begin here
  sis-relay letters list --kind rejected --since 2d
  sis-relay letters show 3f0c91aa
  sis-relay letters replay --function grade-push --dry-run`;
