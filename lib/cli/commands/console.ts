import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Command, Option } from 'commander';
import { startConsole } from '../../console/console.ts';
import { printableJson } from '../../redaction/printable.ts';
import { type Cli, contextOf, wholeNumber } from '../command-context.ts';
import { errorSentence } from '../print/error-sentence.ts';

type Given = { port: number; open: boolean; readOnly: boolean; idle: number };

export const addConsole = (program: Command, cli: Cli): void => {
  program
    .command('console')
    .description('serves the desk to a browser on this machine, with your rights')
    .option(
      '--port <n>',
      'where it listens, on this machine alone; 0: any that is free',
      wholeNumber(0, 65_535),
      4747,
    )
    .option('--no-open', 'only print the address')
    .option('--read-only', 'show everything, change nothing', false)
    .addOption(
      new Option('--idle <minutes>', 'end after so long without use')
        .default(30)
        .argParser(wholeNumber(1, 1_440)),
    )
    .addHelpText('after', examples)
    .action(async ({ port, open, readOnly, idle }: Given, command: Command) => {
      const { target, terminal, signal, isJson, finish } = contextOf(cli, command);
      const { url, ended } = await startConsole(target, {
        ...{ port, readOnly, signal, idleMs: idle * 60_000 },
        sentence: (error) => errorSentence(error, command.optsWithGlobals()),
        say: (line) => terminal.err(`${line}\n`),
      });
      terminal.out(isJson ? `${printableJson({ url })}\n` : `The console is at ${url}\n`);
      terminal.err(
        `The address lets one browser in, once. ${open ? '' : 'Open it, then use that browser. '}Ctrl-C ends the console.\n`,
      );
      const opened = open && !isJson ? await openInBrowser(url) : undefined;
      const why = await ended;
      await opened?.[Symbol.asyncDispose]();
      if (why === 'unused') terminal.err(`Nobody used the console for ${idle} minutes, so it has ended.\n`);
      finish(true);
    });
};

/**
 * Whoever else works on this machine sees the arguments of processes, and the address has the token: so a file that nobody else can read
 * leads there.
 */
const openInBrowser = async (url: string): Promise<AsyncDisposable> => {
  const folder = await mkdtemp(join(tmpdir(), 'sis-relay-console-'));
  const file = join(folder, 'open.html');
  const leads = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${url}"><a href="${url}">Open the console</a>\n`;
  await writeFile(file, leads, { mode: 0o600 });
  const { default: open } = await import('open');
  // Where there is no browser, the printed address is left.
  await open(pathToFileURL(file).href).then(
    (opener) => opener.on('error', () => {}),
    () => {},
  );
  return { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
};

const examples = `
Examples:
  sis-relay console --stage prod
  sis-relay console --local --read-only
  sis-relay console --local --port 0 --no-open --json

Every screen has an address of its own, which a colleague with a console of the same stage can open, too.
It answers to this machine alone, and ends with Ctrl-C or when nobody uses it.`;
