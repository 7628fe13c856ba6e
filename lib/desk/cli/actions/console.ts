import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { printableJson } from '../../../runtime/privacy/printable.ts';
import { configFolder } from '../../../stage/target.ts';
import { startConsole } from '../../console/console.ts';
import type { CommandContext } from '../command-context.ts';

export const openConsole = async (
  { target, terminal, signal, isJson, finish, sentence }: CommandContext,
  { port, open, readOnly, idle }: ConsoleOptions,
): Promise<void> => {
  const { url, newUrl, ended } = await startConsole(target, {
    port,
    readOnly,
    signal,
    idleMs: idle * 60_000,
    keptIn: configFolder(),
    sentence,
    say: (line) => terminal.err(`${line}\n`),
  });
  terminal.out(isJson ? `${printableJson({ url })}\n` : `The console is at ${url}\n`);
  using enter = terminal.onEnter(() => terminal.out(`For another browser: ${newUrl()}\n`));
  const more = enter === undefined ? '' : ' Press Enter for the address for another browser.';
  terminal.err(
    `The address works once, in one browser: Chrome, Edge or Firefox. Safari cannot open it.${more} Press Ctrl-C to end the console.\n`,
  );
  const opened = open && !isJson ? await openInBrowser(url) : undefined;
  const why = await ended;
  await opened?.[Symbol.asyncDispose]();
  if (why === 'unused') terminal.err(`The console was not used for ${idle} minutes, so it has ended.\n`);
  finish(true);
};

type ConsoleOptions = { port: number; open: boolean; readOnly: boolean; idle: number };

/**
 * Security: other users of this machine see the arguments of processes, and the address contains the token. So the browser opens a file
 * that only its owner can read, which leads to the address.
 */
const openInBrowser = async (url: string): Promise<AsyncDisposable> => {
  const folder = await mkdtemp(join(tmpdir(), 'sis-relay-console-'));
  const file = join(folder, 'open.html');
  const leads = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${url}"><a href="${url}">Open the console</a>\n`;
  await writeFile(file, leads, { mode: 0o600 });
  const { default: open } = await import('open');
  // Without a browser, the printed address remains.
  await open(pathToFileURL(file).href).then(
    (opener) => opener.on('error', () => {}),
    () => {},
  );
  return { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
};
