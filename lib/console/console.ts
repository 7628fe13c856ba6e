import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { createKept } from '../aws/kept.ts';
import { statusOf } from '../connection/status.ts';
import { type Audit, createAudit } from '../deployment/audit.ts';
import { RefusedError } from '../deployment/command-errors.ts';
import { loadIntegrations } from '../deployment/integrations.ts';
import type { Target } from '../deployment/target.ts';
import { waitingGroups } from '../waiting/waiting.ts';
import { createApp } from './app.ts';
import { createSession, headers } from './guard.ts';
import { createLists, type Lists } from './lists.ts';
import { createRuns } from './runs.ts';

export type ConsoleOptions = {
  /** 0: any that is free. */
  port: number;
  readOnly: boolean;
  /** It ends when nobody has used it for so long. */
  idleMs: number;
  signal: AbortSignal;
  /** What went wrong, as the command says it. */
  sentence(error: unknown): string;
  /** Gets a sentence on each change, and where in the code a defect lies. */
  say(line: string): void;
};

export type Console = {
  /** With the token that lets one browser in. */
  url: string;
  /** Fulfilled when it has ended, and what it was doing is finished: why. */
  ended: Promise<'interrupted' | 'unused'>;
};

/** It answers on this machine alone. */
const address = '127.0.0.1';
/** So long, open pages get what became of their runs when the console ends. */
const lastNewsMs = 500;

/** Serves the desk to browsers on this machine, with the rights of whoever started it. @throws RefusedError where the port is taken. */
export const startConsole = async (target: Target, options: ConsoleOptions): Promise<Console> => {
  const { readOnly, idleMs } = options;
  // Where in the code a defect lies is for the terminal: pages are shown around.
  const sentence = (error: unknown): string => {
    const whole = options.sentence(error);
    const told = whole.replace(/\s{4,}at .*/s, '');
    if (told !== whole) options.say(whole);
    return told;
  };
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  const integrations = await loadIntegrations();
  const server = createServer();
  const port = await listening(server, options.port);
  const host = `${address}:${port}`;
  const session = createSession(port);
  const lists = createLists(target, signal);
  const functions = [...integrations.keys()];
  const readStatus = () => statusOf(target, { functions, signal, lists: listsOf(lists) });
  const status = createKept(readStatus, { freshMs: 10_000 });
  const runs = createRuns({
    ...{ signal, sentence },
    onEnd: () => {
      for (const kept of [lists.letters, lists.waiting, status]) kept.changed();
    },
  });
  const audit = readOnly
    ? refusing
    : createAudit(target, ({ moment, command, id, who }) => {
        if (moment === 'begin') options.say(`${command}: recorded as ${id} by ${who}.`);
      });
  const name = target.prefix.slice(0, -1);
  const desk = { target, name, readOnly, integrations, audit, signal, lists, status, runs };
  let usedMs = Date.now();
  const app = createApp(desk, {
    ...{ host, session, sentence },
    onUse: () => {
      usedMs = Date.now();
    },
  });
  const errorHandler = () => new Response('This is no request of a browser.', { status: 400, headers });
  server.on('request', getRequestListener(app.fetch, { errorHandler }));

  // The first screen need not wait for what takes long.
  lists.letters.get().catch(() => {});

  const ended = new Promise<'interrupted' | 'unused'>((resolve) => {
    const end = async (why: 'interrupted' | 'unused'): Promise<void> => {
      clearInterval(timer);
      ending.abort();
      server.removeAllListeners('request');
      server.close(() => resolve(why));
      await runs.over();
      await setTimeout(lastNewsMs);
      server.closeAllConnections();
    };
    const look = (): void => {
      if (runs.isBusy()) usedMs = Date.now();
      if (Date.now() - usedMs > idleMs) end('unused');
    };
    const timer = setInterval(look, Math.min(10_000, idleMs / 4));
    if (options.signal.aborted) end('interrupted');
    else options.signal.addEventListener('abort', () => end('interrupted'), { once: true });
  });
  return { url: `http://${host}/#token=${session.token}`, ended };
};

const refusing: Audit = {
  begin: async () => {
    throw new RefusedError('This console was started with --read-only, so nothing is changed or revealed.');
  },
};

const listening = async (server: Server, asked: number): Promise<number> => {
  server.listen(asked, address);
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new RefusedError(`Port ${asked} is taken, maybe by another console: give --port.`);
  });
  return (server.address() as AddressInfo).port;
};

/** What the status tells of letters and of what waits, from what is kept. */
const listsOf = ({ letters, waiting }: Lists) => ({
  letters: async () => {
    const { all, groups, queued } = (await letters.get()).value;
    return { groups, queued, listed: all.length, matching: all.length };
  },
  waiting: async () => waitingGroups((await waiting.get()).value, Date.now()),
});
