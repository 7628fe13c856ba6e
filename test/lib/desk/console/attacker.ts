import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { decodeHTML } from 'entities';
import { createApp } from '../../../../lib/desk/console/app.ts';
import { type ConsoleOptions, startConsole } from '../../../../lib/desk/console/console.ts';
import type { ConsoleServices } from '../../../../lib/desk/console/console-services.ts';
import { createSession } from '../../../../lib/desk/console/guard.ts';
import { createSavedFilters } from '../../../../lib/desk/console/saved-filters.ts';
import { loadOptionDesks } from '../../../../lib/options.ts';
import { roles } from '../../../../lib/stage/roles.ts';
import type { Target } from '../../../../lib/stage/target.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

type Sent = {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
};

export type Answer = { status: number; headers: IncomingHttpHeaders; text: string };

/** To open a connection takes as much as to ask for a page. */
const kept = new Agent({ keepAlive: true });
/** What is refused before it has come whole ends with its connection. */
const maxKept = 10_000;

/** A request with these headers and no others, but for the length of its body. */
export const send = (port: number, { method = 'GET', path = '/', headers = {}, body }: Sent) =>
  new Promise<Answer>((resolve, reject) => {
    const bytes = Buffer.byteLength(body ?? '');
    const length =
      body === undefined || 'transfer-encoding' in headers ? {} : { 'content-length': String(bytes) };
    const agent = bytes > maxKept ? false : kept;
    const sent = request(
      { host: '127.0.0.1', port, method, path, setHost: false, agent, headers: { ...length, ...headers } },
      (answer) => {
        const { statusCode: status = 0, headers: answerText } = answer;
        text(answer).then((whole) => resolve({ status, headers: answerText, text: whole }), reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });

/** What comes back for these bytes until the connection is closed, or `enough` of it is there. */
export const sendRaw = (port: number, bytes: string, enough?: (answerText: string) => boolean) =>
  new Promise<string>((resolve, reject) => {
    let answerText = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (chunk) => {
      answerText += chunk;
      if (enough?.(answerText)) socket.destroy();
    });
    socket.on('error', (error) => (answerText === '' ? reject(error) : socket.destroy()));
    socket.on('close', () => resolve(answerText));
  });

export type Opened = Awaited<ReturnType<typeof openConsole>>;

/** A browser has no options: a page names none, but for the name of an action in the audit log. */
const withoutOptions = (answer: Answer): Answer => {
  const isPage = `${answer.headers['content-type']}`.startsWith('text/html');
  const [option] =
    (isPage && /.{0,60}\s--[a-z].{0,60}/.exec(answer.text.replaceAll('show --reveal', ''))) || [];
  if (option !== undefined) throw new Error(`A page names an option of the command: ${option}`);
  return answer;
};

/** A console with one browser that has signed in. */
export const openConsole = async (target: Target, options: Partial<ConsoleOptions> = {}) => {
  const ending = new AbortController();
  const said: string[] = [];
  const { url, ended } = await startConsole(target, {
    port: 0,
    readOnly: false,
    idleMs: 60_000,
    signal: ending.signal,
    keptIn: temporaryFolder(),
    sentence: (error) => String(error),
    say: (line) => said.push(line),
    ...options,
  });
  const { host, hostname, port: portText, hash } = new URL(url);
  const port = Number(portText);
  const token = hash.slice('#token='.length);
  const origin = `http://${host}`;
  const from = { host, origin, 'sec-fetch-site': 'same-origin' };
  const typed = { 'content-type': 'application/x-www-form-urlencoded' };
  const exchange = (given: string, next = '/') =>
    send(port, {
      method: 'POST',
      path: '/session',
      headers: { ...from, ...typed },
      body: new URLSearchParams({ token: given, next }).toString(),
    });
  const signedIn = await exchange(token);
  const setCookie = signedIn.headers['set-cookie'] ?? [];
  const [cookie = ''] = setCookie[0]?.split(';') ?? [];
  const get = async (path: string) =>
    withoutOptions(await send(port, { path, headers: { host, cookie, 'sec-fetch-site': 'same-origin' } }));
  const [, proof = ''] = /data-proof="([^"]+)"/.exec((await get('/runs')).text) ?? [];
  return {
    port,
    host,
    hostname,
    origin,
    token,
    cookie,
    proof,
    setCookie,
    signedIn,
    said,
    exchange,
    ended,
    get,
    /** What the browser sends along with a form of these pages. */
    own: { ...from, ...typed, cookie },
    post: async (path: string, form: Record<string, string> | string = {}) =>
      withoutOptions(
        await send(port, {
          method: 'POST',
          path,
          headers: { ...from, ...typed, cookie },
          body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
        }),
      ),
    close: async () => {
      ending.abort();
      await ended;
    },
  };
};

const desks = await loadOptionDesks();
const optionScreens = (await Promise.all(desks.map(({ screens }) => screens?.()))).flatMap(
  (each) => each ?? [],
);

/** The console without its server, with this desk alone, and how a browser signs in. */
export const appWith = (desk: object = {}) => {
  const session = createSession();
  const host = '0123456789abcdef.localhost:1';
  const own = { session, signal: new AbortController().signal, who: 'a test', roles: new Set(roles) };
  const filters = createSavedFilters(join(temporaryFolder(), 'filters.json'), 'sis-relay-test');
  const keys = { areOn: () => true, turn: async () => {} };
  const whole = { integrations: new Map(), desks, filters, keys, ...own, ...desk };
  const app = createApp(whole as unknown as ConsoleServices, {
    host,
    optionScreens,
    sentence: String,
    onUse: () => {},
  });
  const headers = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
  const exchange = (token: string, next = '/') =>
    app.request(`http://${host}/session`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ token, next }),
    });
  const get = async (path: string): Promise<string> => {
    const signedIn = await exchange(session.token);
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const answer = await app.request(`http://${host}${path}`, { headers: { ...headers, cookie } });
    return answer.text();
  };
  return { session, app, exchange, get };
};

type Element = { name: string; attributes: Map<string, string> };

const piece =
  /<!doctype html>|<\/([a-z][a-z0-9]*)>|<([a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"]*")?)*)\s*\/?>|[^<]+/y;

/** The elements and the text of a page. Strict: a tag that is not as our templates write them has come from elsewhere. */
export const read = (page: string): { elements: Element[]; text: string } => {
  const elements: Element[] = [];
  let answerText = '';
  piece.lastIndex = 0;
  while (piece.lastIndex < page.length) {
    const at = piece.lastIndex;
    const found = piece.exec(page);
    if (found === null) throw new Error(`This is no markup of ours: ${page.slice(at, at + 80)}`);
    const [whole, , name, attributes = ''] = found;
    if (name !== undefined)
      elements.push({
        name,
        attributes: new Map(
          [...attributes.matchAll(/([a-zA-Z-]+)(?:="([^"]*)")?/g)].map(([, key = '', value = '']) => [
            key,
            decodeHTML(value),
          ]),
        ),
      });
    else if (!whole.startsWith('<')) answerText += decodeHTML(whole);
  }
  return { elements, text: answerText };
};
