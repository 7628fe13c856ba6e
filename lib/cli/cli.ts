import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { RefusedError, UsageError } from '../deployment/command-errors.ts';
import { loadIntegrations } from '../deployment/integrations.ts';
import { unknownName } from '../deployment/nearest.ts';
import { safeText } from '../redaction/log-text.ts';
import { printableJson } from '../redaction/printable.ts';
import { type Cli, globalOptions } from './command-context.ts';
import { addAuthUrl } from './commands/auth-url.ts';
import { addCompletion } from './commands/completion.ts';
import { addHelp } from './commands/help.ts';
import { addDiscard } from './commands/letters/discard.ts';
import { addEdit } from './commands/letters/edit.ts';
import { addExport } from './commands/letters/export.ts';
import { addGroups } from './commands/letters/groups.ts';
import { addImport } from './commands/letters/import.ts';
import { addList } from './commands/letters/list.ts';
import { addReindex } from './commands/letters/reindex.ts';
import { addReplay } from './commands/letters/replay.ts';
import { addShow } from './commands/letters/show.ts';
import { addVerify } from './commands/letters/verify.ts';
import { addPublish } from './commands/publish.ts';
import { addScopes } from './commands/scopes.ts';
import { addStatus } from './commands/status.ts';
import { wrapped } from './print/table.ts';
import { guarded, type Terminal } from './print/terminal.ts';

/** 0: done. 1: nothing to do, refused, or not all done. 2: wrong usage. 130: interrupted by Ctrl-C, 143: by SIGTERM. */
export const run = async (args: string[], given: Terminal): Promise<number> => {
  const terminal = guarded(given);
  const statusUnlessInterrupted = (status: number): number => {
    const { aborted, reason } = terminal.signal;
    return aborted && typeof reason === 'number' ? reason : status;
  };
  let done = true;
  let document: unknown;
  const cli: Cli = {
    terminal,
    finish: (isDone) => {
      done = isDone;
    },
    collect: (next) => {
      document = isRecord(document) && isRecord(next) ? { ...document, ...next } : next;
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
    .helpCommand(false)
    .hook('preAction', (_program, command) => checkFunctions(command))
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
    addVerify,
    addEdit,
    addDiscard,
    addExport,
    addImport,
    addReindex,
  ])
    add(letters, cli);
  for (const add of [addStatus, addPublish, addScopes, addAuthUrl, addCompletion, addHelp]) add(program, cli);

  try {
    await program.parseAsync(args, { from: 'user' });
    return statusUnlessInterrupted(done ? 0 : 1);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const isInterrupted = terminal.signal.aborted && error instanceof Error && error.name === 'AbortError';
    if (!isInterrupted)
      terminal.err(
        `${errorSentence(error, program.opts())
          .split('\n')
          .flatMap((line) => wrapped(line, terminal.width))
          .join('\n')}\n`,
      );
    return statusUnlessInterrupted(error instanceof UsageError ? 2 : 1);
  } finally {
    if (document !== undefined) terminal.out(`${printableJson(document)}\n`);
  }
};

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A name that is misspelt matches nothing: that is said before anything is read. */
const checkFunctions = async (command: Command): Promise<void> => {
  const names = [command.opts().function ?? []].flat();
  if (names.length === 0) return;
  const known = [...(await loadIntegrations()).keys()];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(unknownName('function', unknown, known));
};

type Given = { profile?: string; region?: string; local?: boolean; stack?: string };

/** What went wrong, as a sentence for whoever typed the command. */
const errorSentence = (error: unknown, given: Given): string => {
  if (!(error instanceof Error)) return `It failed: ${typeof error}`;
  if (error instanceof UsageError || error instanceof RefusedError) return error.message;
  const { name } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const profile = given.profile === undefined ? '' : ` by the profile ${given.profile}`;
  if (
    /^(ExpiredToken|RequestExpired)/.test(name) ||
    /token is expired|token has expired/i.test(error.message)
  )
    return `Your credentials of AWS${profile} have expired: log in again, as with \`aws sso login\`.`;
  if (/^CredentialsProviderError$|^(UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId)/.test(name))
    return `AWS does not know who you are${profile}: ${safeText(error.message)}\nLog in, as with \`aws sso login\`, or name another --profile.`;
  if (/region is missing/i.test(error.message)) return 'Which AWS region? Give --region, or set AWS_REGION.';
  const [, region] = /^Region not accepted: region="([^"]*)"/.exec(error.message) ?? [];
  if (region !== undefined)
    return `${safeText(region)} is no AWS region: give --region, or set AWS_REGION, as in eu-west-1.`;
  if (/AccessDenied|NotAuthorized|AuthorizationError|Forbidden/i.test(name))
    return `AWS does not let you do that: ${safeText(error.message)}`;
  if (/NonExistentQueue|QueueDoesNotExist/.test(name))
    return 'There is no such queue in this account and region: look at --stage, --region and --profile.';
  if (name === 'NoSuchBucket') return 'There is no such bucket: look at --bucket.';
  if (/^(ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN)$/.test(code) || name === 'TimeoutError')
    return unreachable(error, code || name, given);
  if ('$metadata' in error) return `AWS refused: ${name}: ${safeText(error.message)}`;
  if (code !== '') return safeText(`${code}: ${error.message}`);
  return `A defect of sis-relay, please report it: ${safeText(error.stack ?? error.message, 2_000)}`;
};

const unreachable = (error: Error, code: string, { local, stack, region }: Given): string => {
  if (local || stack !== undefined)
    return `The stack on this machine does not answer (${code}): is \`npm run local\` still running?`;
  const host = 'hostname' in error && typeof error.hostname === 'string' ? error.hostname : '';
  const [, named = region] = /^[\w-]+\.([a-z0-9-]+)\.(?:amazonaws\.|api\.aws)/.exec(host) ?? [];
  if (code === 'ENOTFOUND' && host !== '')
    return `There is no host ${safeText(host)}: ${named === undefined ? '' : `is ${safeText(named)} an AWS region? `}Look at --region, and at the network of this machine.`;
  return `AWS does not answer (${code}${host === '' ? '' : `, ${safeText(host)}`}): look at the network of this machine, and at AWS_ENDPOINT_URL where it is set.`;
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
Exit status: 0 done, 1 nothing to do, refused or not all done, 2 wrong usage, 130 after Ctrl-C.`;

const letterExamples = `
Examples:
  sis-relay letters groups                          begin here
  sis-relay letters list --kind rejected --since 2d
  sis-relay letters show 3f0c91aa
  sis-relay letters replay --function grade-push --dry-run`;
