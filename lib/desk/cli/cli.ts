import { Command, CommanderError } from 'commander';
import { loadOptionDesks } from '../../options.ts';
import { printableJson } from '../../runtime/privacy/printable.ts';
import { UsageError } from '../../stage/command-errors.ts';
import { integrationNames } from '../../stage/function-names.ts';
import { unknownName } from '../../stage/nearest.ts';
import { ownVersion, versionText } from '../../stage/version.ts';
import type { Cli } from './command-context.ts';
import { addCompletion } from './commands/completion.ts';
import { addDeployment } from './commands/deployment.ts';
import { addHelp } from './commands/help.ts';
import { addLetters } from './commands/letters.ts';
import { addMessages } from './commands/messages.ts';
import { checkPlace, globalOptions, roleFor } from './options.ts';
import { asTyped, guarded, type Terminal } from './print/terminal.ts';

/** What a script may rely on. */
export const exitCodes = {
  0: 'done',
  1: 'nothing to do, refused or not all done',
  2: 'wrong usage',
  130: 'Ctrl-C',
  143: 'SIGTERM',
};

export const run = async (args: string[], given: Terminal): Promise<number> => {
  const terminal = guarded(given);
  const statusUnlessInterrupted = (status: number): number => {
    const { aborted, reason } = terminal.signal;
    return aborted && typeof reason === 'number' ? reason : status;
  };
  let done = true;
  let document: unknown;
  const last: string[] = [];
  let started: Command | undefined;
  const cli: Cli = {
    terminal,
    desks: await loadOptionDesks(),
    finish: (isDone) => {
      done = isDone;
    },
    sayLast: (text) => last.push(text),
    collect: (next) => {
      document = isRecord(document) && isRecord(next) ? { ...document, ...next } : next;
    },
  };
  const program = programOf(cli, (command) => {
    started = command;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return statusUnlessInterrupted(done ? 0 : 1);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const isInterrupted = terminal.signal.aborted && error instanceof Error && error.name === 'AbortError';
    if (!isInterrupted) terminal.err(await errorText(error, started ?? program, terminal));
    return statusUnlessInterrupted(error instanceof UsageError ? 2 : 1);
  } finally {
    terminal.line('');
    if (document !== undefined) terminal.out(`${printableJson(document)}\n`);
    for (const text of last) terminal.err(text);
  }
};

/** Every command with its options. */
export const programOf = (cli: Cli, onStart?: (command: Command) => void): Command => {
  const program = new Command('sis-relay')
    .description(
      'Shows, corrects and replays dead letters, publishes messages, and shows the state of a deployment.',
    )
    .option('-v, --version', 'print the version, and the commit if it is known')
    .on('option:version', () => {
      cli.terminal.out(`${versionText(ownVersion())}\n`);
      throw new CommanderError(0, 'commander.version', '');
    })
    .configureOutput({
      writeOut: (text) => cli.terminal.out(startedSo(text, cli.terminal)),
      writeErr: (text) => cli.terminal.err(startedSo(text, cli.terminal)),
      outputError: (text, write) => write(text.replace(/(too many arguments[^\n]*)/, `$1 ${severalValues}`)),
      getOutHelpWidth: () => Math.min(cli.terminal.width, 140),
      getErrHelpWidth: () => Math.min(cli.terminal.width, 140),
    })
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .showHelpAfterError('(see --help)')
    .helpCommand(false)
    .hook('preAction', (_program, command) => {
      onStart?.(command);
      checkPlace(command.optsWithGlobals());
      checkFunctions(command);
    })
    .addHelpText('after', examples);
  for (const option of globalOptions()) program.addOption(option);
  const ofOptions = cli.desks.flatMap(({ addCommands }) => addCommands ?? []);
  for (const add of [addLetters, addMessages, ...ofOptions, addDeployment, addCompletion, addHelp])
    add(program, cli);
  addRoles(program);
  return program;
};

/** Each command's help names the role that it needs. */
const addRoles = (command: Command): void => {
  const role = roleFor(command);
  if (role !== undefined) command.addHelpText('after', `\nRole: ${role}`);
  for (const each of command.commands) addRoles(each);
};

const severalValues = 'Separate several values of an option by commas, as in --cause 1f2e3d4c,5a6b7c8d.';

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A misspelt name matches nothing: it is reported before anything is read. */
const checkFunctions = (command: Command): void => {
  const names = [command.opts().function ?? []].flat();
  if (names.length === 0) return;
  const known = integrationNames();
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(unknownName('function', unknown, known));
};

const errorText = async (error: unknown, command: Command, terminal: Terminal): Promise<string> => {
  const [{ errorSentence }, { wrapped }, { terminalFor }] = await Promise.all([
    import('./print/error-sentence.ts'),
    import('./print/table.ts'),
    import('./command-context.ts'),
  ]);
  const sentence = asTyped(
    errorSentence(error, command.optsWithGlobals(), roleFor(command)),
    terminalFor(command, terminal),
  );
  return `${sentence
    .split('\n')
    .flatMap((line) => wrapped(line, terminal.width))
    .join('\n')}\n`;
};

/** Usage and examples, as they are typed here. */
const startedSo = (text: string, { command }: Terminal): string =>
  text.replace(/(?<=^ {2}|^Usage: |\| )sis-relay (?=[\w[])/gm, command(''));

const examples = `
Examples:
  sis-relay status --stage prod                 the state of the deployment
  sis-relay letters groups --stage prod         what failed, how often, and who must do what
  sis-relay letters replay --kind unavailable   sends what failed for this reason again
  sis-relay publish grades.csv --function grade-push --dry-run
  sis-relay reconcile show                      whether the platform holds what was sent to it
  sis-relay scopes                              which OAuth scopes to ask for
  sis-relay console --stage prod                all of it in a browser

It uses the AWS configuration of this machine, as the AWS CLI does.
Exit status:
  ${Object.entries(exitCodes)
    .map(([code, meaning]) => `${code} ${meaning}`)
    .join(', ')}.`;
