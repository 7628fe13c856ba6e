import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ConsoleOptions, startConsole } from '../../../../lib/desk/console/console.ts';
import { RefusedError } from '../../../../lib/stage/command-errors.ts';
import { waitLimitMs } from '../../../limits.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { type Office, officesForTests } from '../cli/office.ts';
import { launch, type ServedConsole, signIn } from './browser.ts';
import { browserPath } from './browser-path.ts';

const offices = officesForTests();
let office: Office;
let letter: string;
beforeAll(async () => {
  office = await offices.open();
  [letter = ''] = await office.park([{}]);
});

const start = async (
  options: Partial<ConsoleOptions> = {},
  target = office.target,
): Promise<ServedConsole> => {
  const ending = new AbortController();
  const { url, ended } = await startConsole(target, {
    port: 0,
    readOnly: false,
    idleMs: 60_000,
    signal: ending.signal,
    sentence: (error) => String(error),
    say: () => {},
    keptIn: temporaryFolder(),
    ...options,
  });
  return {
    url,
    origin: new URL(url).origin,
    stop: async () => {
      ending.abort();
      await ended;
    },
  };
};

const loopback = ['127.0.0.1', '::1'];
const theirs = '<title>theirs</title><main id="part"><h1 role="alert">theirs</h1></main>';
const worker = `addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => event.respondWith(new Response('${theirs}', { headers: { 'Content-Type': 'text/html' } })));`;
/** What each visit leaves in the browser. */
const plant = `
  document.cookie = 'sis-relay-console=theirs; path=/';
  document.cookie = 'sis-relay-console=theirs; path=/; domain=localhost';
  localStorage.setItem('theirs', 'theirs');
  caches.open('theirs')
    .then((cache) => cache.put('/console.js', new Response('document.title = "theirs"')))
    .then(() => navigator.serviceWorker.register('/worker.js'))
    .then(() => navigator.serviceWorker.ready)
    .then(() => {})`;

type ReceivedRequest = { method: string | undefined; url: string | undefined; body: string };

/** Another process of this machine, at the port of the console: it answers everything with what is its own, or never. */
const squat = async (port: number, { addresses = loopback, isSilent = false } = {}) => {
  const asked: ReceivedRequest[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url, headers } = request;
    asked.push({ method, url, body: await text(request) });
    if (isSilent) return;
    const isStream = headers.accept === 'text/event-stream';
    const type = isStream ? 'text/event-stream' : url === '/worker.js' ? 'text/javascript' : 'text/html';
    response.writeHead(200, { 'Content-Type': type, 'Console-Proof': 'theirs' });
    if (isStream) response.write(`data: ${theirs}\n\n`);
    else if (url?.endsWith('/live')) response.write('\n');
    else response.end(url === '/worker.js' ? worker : theirs);
  };
  const servers: Server[] = [];
  for (const address of addresses) {
    const server = createServer(answer).listen(port, address);
    await once(server, 'listening');
    servers.push(server);
  }
  return {
    asked,
    leave: () =>
      Promise.all(
        servers.map((server) => {
          const closed = once(server, 'close');
          server.close().closeAllConnections();
          return closed;
        }),
      ),
  };
};

/** None of those that connections of this machine get by themselves. */
const somePort = (): number => randomInt(20_000, 32_000);

describe('the port', () => {
  test.each(loopback)(
    'is refused where somebody else has it at %s, and given back at the other',
    async (address) => {
      const port = somePort();
      const squatter = await squat(port, { addresses: [address] });
      await expect(start({ port })).rejects.toThrow(RefusedError);
      await expect(start({ port })).rejects.toThrow(`Port ${port} is not free (EADDRINUSE)`);
      await squatter.leave();
      const both = await squat(port);
      await both.leave();
    },
  );

  test('is held at both addresses until the console has ended', async () => {
    const port = somePort();
    const { stop } = await start({ port });
    for (const address of loopback)
      await expect(squat(port, { addresses: [address] })).rejects.toThrow('EADDRINUSE');
    const stopping = stop();
    for (const address of loopback)
      await expect(squat(port, { addresses: [address] })).rejects.toThrow('EADDRINUSE');
    await stopping;
    await (await squat(port)).leave();
  });
});

test('each start has a name that nobody can guess, and so an origin of its own', async () => {
  const port = somePort();
  const origins: string[] = [];
  for (let at = 0; at < 3; at += 1) {
    const { origin, stop } = await start({ port });
    origins.push(origin);
    await stop();
  }
  for (const origin of origins)
    expect(origin).toMatch(new RegExp(`^http://[0-9a-f]{32}\\.localhost:${port}$`));
  expect(new Set(origins).size).toBe(3);
});

describe.skipIf(browserPath() === undefined)('in a browser', { tags: ['long'] }, () => {
  let browser: Browser;
  let context: BrowserContext;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    context = await browser.newContext();
    context.setDefaultTimeout(waitLimitMs);
  });
  afterEach(() => context.close());

  const isTheirs = async (page: Page): Promise<boolean> => (await page.content()).includes('theirs');

  test('what whoever had the port before left in the browser does not reach the next console', async () => {
    const port = somePort();
    const earlier = await start({ port });
    await (await signIn(context, earlier)).close();
    await earlier.stop();
    const squatter = await squat(port);
    const names = ['127.0.0.1', '[::1]', 'localhost', 'console.localhost', new URL(earlier.origin).hostname];
    for (const name of names) {
      const page = await context.newPage();
      await page.goto(`http://${name}:${port}/`);
      await page.evaluate(plant);
      await page.close();
    }
    await squatter.leave();
    for (const name of names) {
      const page = await context.newPage();
      await page.goto(`http://${name}:${port}/#token=any`);
      expect(await isTheirs(page), `the worker at ${name} answers, so that this proves something`).toBe(true);
      await page.close();
    }

    const ours = await start({ port });
    const page = await signIn(context, ours);
    await page.goto(`${ours.origin}/letters/${letter}`);
    expect(await isTheirs(page)).toBe(false);
    const kept = await page.evaluate<unknown[]>(
      `Promise.all([navigator.serviceWorker.getRegistrations(), caches.keys(), Object.keys(localStorage)])`,
    );
    expect(kept).toEqual([[], [], []]);
    expect((await context.cookies(ours.origin)).map(({ httpOnly }) => httpOnly)).toEqual([true]);
    await ours.stop();
  });

  test('neither a worker nor a frame comes into a page of the console', async () => {
    const ours = await start();
    const page = await signIn(context, ours);
    const attempts = `new Promise((resolve) => {
      const refused = [];
      document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
        refused.push(effectiveDirective);
        if (refused.length === 4) resolve(refused.sort());
      });
      setTimeout(resolve, 5_000, refused);
      navigator.serviceWorker.register('/console.js').then(() => resolve('a worker was registered'), () => {});
      new Worker('/console.js');
      document.body.append(Object.assign(document.createElement('iframe'), { src: '/icon.svg' }));
      document.body.append(Object.assign(document.createElement('object'), { data: '/icon.svg' }));
    })`;
    expect(await page.evaluate(attempts)).toEqual(['frame-src', 'object-src', 'worker-src', 'worker-src']);
    await ours.stop();
  });

  /** As when another tab is chosen, and this one again. */
  const turn = (page: Page, isHidden: boolean): Promise<void> =>
    page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);

  describe.each([
    { what: 'shows something of its own', isSilent: false },
    { what: 'never answers', isSilent: true },
  ])('whoever takes the port later and $what', ({ isSilent }) => {
    test('is shown and told nothing by tabs that were left open', async () => {
      const port = somePort();
      const ours = await start({ port });
      const overview = await signIn(context, ours);
      const open = async (path: string): Promise<Page> => {
        const page = await context.newPage();
        await page.goto(`${ours.origin}${path}`);
        return page;
      };
      const [form, hidden] = [await open(`/letters/${letter}`), await open('/runs')];
      await form.getByLabel('Reason').fill('personal');
      await turn(hidden, true);
      await ours.stop();
      const squatter = await squat(port, { isSilent });
      // It comes into sight again, and asks who is there.
      await turn(hidden, false);
      for (const page of isSilent ? [overview, form] : [overview, form, hidden])
        await page
          .locator('.lost')
          .filter({ hasText: /This (page has lost its console|console has ended)/ })
          .waitFor();
      const link = (page: Page) => page.getByRole('link', { name: 'Log', exact: true });
      for (const page of [overview, form, hidden]) await link(page).click();
      await link(overview).press('Enter');
      await link(overview).click({ modifiers: ['Control'] });
      await link(overview).click({ button: 'middle' });
      await form.getByRole('button', { name: 'Reveal' }).click();
      await form.getByLabel('Reason').press('Enter');
      for (const isHidden of [true, false]) await turn(overview, isHidden);
      // As long as a browser takes to connect anew with a stream that broke.
      await overview.waitForTimeout(4_000);
      expect(context.pages()).toHaveLength(3);
      for (const page of context.pages()) expect(await isTheirs(page)).toBe(false);
      expect(squatter.asked).toEqual([{ method: 'GET', url: '/live', body: '' }]);
      expect(await form.getByLabel('Reason').inputValue(), 'what was written is still there').toBe(
        'personal',
      );
      await squatter.leave();
    });
  });

  /** How many messages were done never comes, so that the chart is fetched after its screen. The screen has all else. */
  let silent: Server;
  const slow = () => ({
    ...office.target,
    functionLog: { client: localClient(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`) },
  });
  beforeAll(async () => {
    silent = createServer(async (request, response) => {
      if ((await text(request)).includes('BatchesUnanswered')) response.writeHead(400).end();
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
  });
  afterAll(() => {
    silent.closeAllConnections();
    silent.close();
  });

  describe.each([
    { screen: '/runs', path: '/live' },
    { screen: '/', path: '/overview/live' },
    { screen: '/', path: '/overview/live?part=yes' },
    { screen: '/', path: '/trends' },
  ])('at $screen, what comes from $path without the secret', ({ screen, path }) => {
    test('is not shown, and the page asks no more', async () => {
      const ours = await start({}, path === '/trends' ? slow() : office.target);
      const page = await signIn(context, ours);
      const asked: string[] = [];
      await context.route(`${ours.origin}${path}`, async (route) => {
        asked.push(route.request().url());
        const headers = { 'Console-Proof': 'theirs' };
        await route.fulfill({ status: 200, contentType: 'text/html', body: theirs, headers });
      });
      await page.goto(ours.origin + screen);
      await page.locator('.lost').waitFor();
      expect(await isTheirs(page)).toBe(false);
      for (const isHidden of [true, false]) await turn(page, isHidden);
      await page.getByRole('link', { name: 'Letters', exact: true }).click();
      expect(new URL(page.url()).pathname).toBe(screen);
      expect(asked).toEqual([ours.origin + path]);
      await ours.stop();
    });
  });
});
