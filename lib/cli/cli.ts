import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { RefusedError, UsageError } from '../deployment/command-errors.ts';
import { safeText } from '../redaction/log-text.ts';
import { type Cli, globalOptions } from './command-context.ts';
import { addAuthUrl } from './commands/auth-url.ts';
import { addDiscard } from './commands/letters/discard.ts';
import { addEdit } from './commands/letters/edit.ts';
import { addExport } from './commands/letters/export.ts';
import { addGroups } from './commands/letters/groups.ts';
import { addImport } from './commands/letters/import.ts';
import { addList } from './commands/letters/list.ts';
import { addReindex } from './commands/letters/reindex.ts';
import { addReplay } from './commands/letters/replay.ts';
import { addShow } from './commands/letters/show.ts';
import { addPublish } from './commands/publish.ts';
import { addScopes } from './commands/scopes.ts';
import { addStatus } from './commands/status.ts';
import { addTrace } from './commands/trace.ts';
import { addWaiting } from './commands/waiting.ts';
import { wrapped } from './print/table.ts';
import { guarded, type Terminal } from './print/terminal.ts';

/** 0: done. 1: nothing to do, refused, or not all done. 2: wrong usage. */
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
    .description(
      'Shows, corrects and replays dead letters, publishes messages, and shows the state of everything.',
    )
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
  for (const add of [
    addGroups,
    addList,
    addShow,
    addReplay,
    addEdit,
    addDiscard,
    addExport,
    addImport,
    addReindex,
  ])
    add(letters, cli);
  for (const add of [addStatus, addWaiting, addTrace, addPublish, addScopes, addAuthUrl]) add(program, cli);

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

/** What went wrong, as a sentence for whoever typed the command. */
const errorSentence = (error: unknown, { profile }: { profile?: string } = {}): string => {
  if (!(error instanceof Error)) return `It failed: ${typeof error}`;
  if (error instanceof UsageError || error instanceof RefusedError) return error.message;
  const { name } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (
    /^CredentialsProviderError$|^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId)/.test(
      name,
    )
  )
    return `AWS does not know who you are${profile === undefined ? '' : ` by the profile ${profile}`}: ${safeText(error.message)}\nLog in, as with \`aws sso login\`, or name another --profile.`;
  if (/region is missing/i.test(error.message)) return 'Which AWS region? Give --region, or set AWS_REGION.';
  if (/AccessDenied|NotAuthorized|AuthorizationError|Forbidden/i.test(name))
    return `AWS does not let you do that: ${safeText(error.message)}`;
  if (/NonExistentQueue|QueueDoesNotExist/.test(name))
    return 'There is no such queue in this account and region: look at --stage, --region and --profile.';
  if (name === 'NoSuchBucket') return 'There is no such bucket: look at --bucket.';
  if (/^(ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN)$/.test(code) || name === 'TimeoutError')
    return `AWS does not answer (${code || name}). With --local: is \`npm run local\` still running?`;
  if ('$metadata' in error) return `AWS refused: ${name}: ${safeText(error.message)}`;
  if (code !== '') return safeText(`${code}: ${error.message}`);
  return `A defect of sis-relay, please report it: ${safeText(error.stack ?? error.message, 2_000)}`;
};

const version = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

const examples = `
Examples:
  sis-relay status --stage prod                 the state of everything
  sis-relay letters groups --stage prod         what failed, how often, and who must do what
  sis-relay letters replay --kind unavailable   sends what failed for that reason again
  sis-relay publish grades.csv --function grade-push --dry-run
  sis-relay scopes                              which OAuth scopes to ask for

It uses the AWS configuration of this machine, as the AWS CLI does.
Exit status: 0 done, 1 nothing to do or refused, 2 wrong usage.`;

const letterExamples = `
Examples:
  sis-relay letters groups                          begin here
  sis-relay letters list --kind rejected --since 2d
  sis-relay letters show 3f0c91aa
  sis-relay letters replay --function grade-push --dry-run`;
