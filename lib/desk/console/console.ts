import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { loadOptionDesks, statusPartsOf } from '../../options.ts';
import { actorOf } from '../../stage/actor.ts';
import { type Audit, createAudit, rolesOf } from '../../stage/audit.ts';
import { RefusedError, UsageError } from '../../stage/command-errors.ts';
import { loadIntegrations } from '../../stage/integrations.ts';
import { roles as allRoles, type Role } from '../../stage/roles.ts';
import type { Target } from '../../stage/target.ts';
import { waitingGroups } from '../messages/waiting/waiting.ts';
import { statusOf } from '../stage-state/status.ts';
import { createApp } from './app.ts';
import { createCachedValue } from './cached-value.ts';
import { type CachedLists, createLists } from './console-services.ts';
import { createSession, headers } from './guard.ts';
import { withoutCommands } from './html/html.ts';
import { createRuns } from './runs.ts';
import { createSavedFilters } from './saved-filters.ts';
import { createSavedKeySetting } from './saved-keys.ts';

export type ConsoleOptions = {
  /** 0: any free port. */
  port: number;
  readOnly: boolean;
  /** The console ends after this time without use. */
  idleMs: number;
  signal: AbortSignal;
  /** The folder of what a person has set: filters by name, and whether keys do something. */
  keptIn: string;
  /** Describes an error, as the command does. */
  sentence(error: unknown): string;
  /** Receives a sentence on each change, and the location of a defect in the code. */
  say(line: string): void;
};

export type Console = {
  /** Contains the token that admits one browser. */
  url: string;
  /** An address for one more browser; the one before, if it was not used, admits nobody any more. */
  newUrl(): string;
  /** Resolves to the reason when the console has ended and its running work is finished. */
  ended: Promise<'interrupted' | 'unused'>;
};

/** Each ticked letter is in the address of the screen for it: room for more than a thousand. */
const maxHeaderSize = 60 * 1024;

/** A screen waits this long to know the caller's roles. */
const longestAskMs = 1_000;

/** After the console ends, open pages ask for the results of their runs this long. */
const lastNewsMs = 500;

/** Serves the console to browsers on this machine, with the rights of the user who started it. @throws RefusedError if the port is taken. */
export const startConsole = async (target: Target, options: ConsoleOptions): Promise<Console> => {
  const { idleMs } = options;
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  const sentence = sentenceFor(options);
  const { services, optionScreens } = await createDesk(target, { ...options, signal, sentence });
  const { runs, lists, session } = services;
  const { servers, port } = await listening(options.port);
  // Security: a random host name gives each console its own origin, so that data which an earlier server on this port left in the browser
  // do not apply. The name is secret, because browsers send the cookie to other ports of the same host.
  const host = `${randomBytes(16).toString('hex')}.localhost:${port}`;
  let usedMs = Date.now();
  const onUse = (): void => {
    usedMs = Date.now();
  };
  const app = createApp(services, { host, sentence, optionScreens, onUse });
  const errorHandler = () => new Response('This is not a request of a browser.', { status: 400, headers });
  for (const server of servers) server.on('request', getRequestListener(app.fetch, { errorHandler }));

  // The first screen need not wait for a slow reading.
  lists.letters.get().catch(() => {});

  const ended = new Promise<'interrupted' | 'unused'>((resolve) => {
    const end = async (why: 'interrupted' | 'unused'): Promise<void> => {
      clearInterval(timer);
      ending.abort();
      // Until then the port stays taken.
      await runs.over();
      await setTimeout(lastNewsMs);
      for (const server of servers) server.close().closeAllConnections();
      resolve(why);
    };
    const look = (): void => {
      if (runs.isBusy()) onUse();
      if (Date.now() - usedMs > idleMs) end('unused');
    };
    const timer = setInterval(look, Math.min(10_000, idleMs / 4));
    if (options.signal.aborted) end('interrupted');
    else options.signal.addEventListener('abort', () => end('interrupted'), { once: true });
  });
  const urlWith = (token: string): string => `http://${host}/#token=${token}`;
  return { url: urlWith(session.token), newUrl: () => urlWith(session.newToken()), ended };
};

/** The location of a defect in the code goes to the terminal only: people show pages to others. */
const sentenceFor =
  ({ sentence, say }: ConsoleOptions) =>
  (error: unknown): string => {
    if (error instanceof RefusedError || error instanceof UsageError) return withoutCommands(error.inBrowser);
    const whole = sentence(error);
    const withoutStack = whole.replace(/(?<!\s)\s{4,}at .*/s, '');
    if (withoutStack !== whole) say(whole);
    return withoutStack;
  };

/** What the screens work on, and the screens that options add. */
const createDesk = async (target: Target, { readOnly, signal, sentence, keptIn, say }: ConsoleOptions) => {
  const integrations = await loadIntegrations();
  const who = await actorOf(target);
  const { roles, rolesKnown } = rolesIn(target, readOnly);
  const lists = createLists(target, signal);
  const functions = [...integrations.keys()];
  const desks = await loadOptionDesks();
  const parts = await statusPartsOf(desks);
  const optionScreens = (await Promise.all(desks.map((each) => each.screens?.()))).flatMap(
    (each) => each ?? [],
  );
  const readStatus = () => statusOf(target, { functions, parts, signal, lists: listsOf(lists) });
  const status = createCachedValue(readStatus, { freshMs: 10_000 });
  const audit = readOnly
    ? refusing
    : createAudit(target, ({ moment, command, id, who }) => {
        if (moment === 'begin') say(`${command}: recorded as ${id} by ${who}.`);
      });
  const onEnd = (): void => {
    for (const kept of [lists.letters, lists.waiting, status]) kept.changed();
  };
  const name = target.prefix.slice(0, -1);
  const services = {
    target,
    name,
    who,
    roles,
    rolesKnown,
    readOnly,
    integrations,
    desks,
    audit,
    signal,
    lists,
    status,
    runs: createRuns({ target, audit, signal, sentence, onEnd }),
    session: createSession(),
    filters: createSavedFilters(join(keptIn, 'filters.json'), name),
    keys: await createSavedKeySetting(join(keptIn, 'console.json')),
  };
  return { services, optionScreens };
};

/** Until IAM has answered, every form is offered: IAM refuses what the caller may not do. */
const rolesIn = (target: Target, readOnly: boolean) => {
  const roles = new Set<Role>(allRoles);
  const found = readOnly
    ? undefined
    : rolesOf(target).then((own) => {
        for (const each of allRoles) if (!own.has(each)) roles.delete(each);
      });
  const rolesKnown = Promise.race([found, setTimeout(longestAskMs, undefined, { ref: false })]);
  return { roles, rolesKnown };
};

const refusing: Audit = {
  begin: async () => {
    throw new RefusedError('This console is read-only. It changes and reveals nothing.');
  },
};

/**
 * Listens on IPv4 and IPv6: browsers try both for a name under localhost, and give the token to any server that answers.
 * @throws RefusedError if one is taken.
 */
const listening = async (asked: number): Promise<{ servers: Server[]; port: number }> => {
  const servers: Server[] = [];
  let port = asked;
  for (const address of ['127.0.0.1', '::1']) {
    const server = createServer({ maxHeaderSize }).listen(port, address);
    const refusal = await once(server, 'listening').then(
      () => servers.push(server) && undefined,
      ({ code }: NodeJS.ErrnoException) => code,
    );
    if (refusal === undefined) ({ port } = server.address() as AddressInfo);
    // Without IPv6, no other process has that address either.
    else if (refusal !== 'EADDRNOTAVAIL' && refusal !== 'EAFNOSUPPORT') {
      for (const each of servers) each.close();
      throw new RefusedError(
        `Port ${port} is not free (${refusal}). Another console may use it. Name another port.`,
      );
    }
  }
  return { servers, port };
};

/** The cached lists of letters and waiting messages for the status. */
const listsOf = ({ letters, waiting }: CachedLists) => ({
  letters: async () => {
    const { all, groupsOf, queued } = (await letters.get()).value;
    return { groups: groupsOf(all).groups, queued, listed: all.length, matching: all.length };
  },
  waiting: async () => waitingGroups((await waiting.get()).value, Date.now()),
});
