import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { options } from '../../options.ts';
import { type Html, html } from './html/html.ts';
import { bare } from './page.ts';

/** Admits one browser for each token: the first that shows the token of a printed address. */
export type BrowserSession = {
  readonly token: string;
  /** The one before admits nobody any more. */
  newToken(): string;
  /** Pages and answers contain it, requests do not: a process that takes the port later does not learn it. */
  proof: string;
  /** Signs this browser in. False: the token is wrong, or was used before. */
  exchange(context: Context, token: string): boolean;
  isSignedIn(context: Context): boolean;
};

const cookie = 'sis-relay-console';
const secret = (): string => randomBytes(32).toString('base64url');

export const createSession = (): BrowserSession => {
  const [key, proof] = [secret(), secret()];
  let token = secret();
  let isUsed = false;
  return {
    proof,
    get token() {
      return token;
    },
    newToken: () => {
      isUsed = false;
      token = secret();
      return token;
    },
    exchange: (context, given) => {
      // Somebody may paste the whole address.
      if (isUsed || !isSame(given.trim().replace(/^.*#token=/, ''), token)) return false;
      isUsed = true;
      setCookie(context, cookie, key, { httpOnly: true, sameSite: 'Strict', path: '/' });
      return true;
    },
    isSignedIn: (context) => isSame(getCookie(context, cookie) ?? '', key),
  };
};

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Takes the same time for any input, so that it reveals nothing. */
const isSame = (given: string, wanted: string): boolean => timingSafeEqual(digestOf(given), digestOf(wanted));

/** Headers of every answer. */
export const headers = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; worker-src 'none'; child-src 'none'; frame-src 'none'; manifest-src 'none'; object-src 'none'",
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  // With `no-referrer`, browsers send forms with `Origin: null`. No other site receives a referrer.
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
};

/** What a page needs before anybody has signed in. None of it contains data. */
const publicRoutes = new Set(['GET /console.css', 'GET /console.js', 'GET /icon.svg', 'POST /session']);

/** Requests that change nothing but what a screen shows. */
const isHarmless = (path: string): boolean =>
  harmlessPosts.test(path) || options.some(({ readOnlyForms: looks }) => looks?.includes(path));

const harmlessPosts =
  /^\/(session|find|keys|filters(\/forget)?|letters\/search|replay|uncertain|publish|runs\/[\w-]+\/(answer|stop))$/;

type GuardOptions = {
  host: string;
  session: BrowserSession;
  readOnly: boolean;
  signal: AbortSignal;
  onUse(): void;
};

const isLive = ({ req }: Context): boolean => req.path.endsWith('/live');

/**
 * Refuses requests that the operator's own browser would not send from these pages. The exact `Host` stops DNS rebinding; `Origin` and
 * `Sec-Fetch-Site` stop forms and scripts of other sites, on every change, whatever its content type; the cookie stops everybody else.
 */
export const guard = ({ host, session, readOnly, signal, onUse }: GuardOptions): MiddlewareHandler => {
  const problemWith = (context: Context) => {
    const { method, path } = context.req;
    const isRead = method === 'GET';
    const from = context.req.header('sec-fetch-site');
    if (context.req.header('host') !== host || new URL(context.req.url).host !== host)
      return refused(
        421,
        `This is not the address of this console. Open the address that the console printed, followed by ${pathOf(context)}`,
      );
    if (!isRead && method !== 'POST') return refused(405, `${method} is not allowed here.`);
    if (isRead && from !== undefined && !['same-origin', 'none'].includes(from))
      return { status: 403 as const, page: elsewhere(pathOf(context)) };
    if (!isRead && (context.req.header('origin') !== `http://${host}` || from !== 'same-origin'))
      return refused(403, 'Changes are accepted only from a page of this console, in a current browser.');
    if (!isRead && !/^(application\/x-www-form-urlencoded|multipart\/form-data)(;|$)/.test(typeOf(context)))
      return refused(415, 'Changes are accepted only from a form.');
    if (publicRoutes.has(`${method} ${path}`)) return undefined;
    if (!session.isSignedIn(context)) return { status: 401 as const, page: signIn(pathOf(context)) };
    if (!isRead && readOnly && !isHarmless(path)) return refused(403, 'This console is read-only.');
    return undefined;
  };
  return async (context, next) => {
    const isOver = signal.aborted && !isLive(context);
    const problem = isOver ? refused(503, 'This console is shutting down.') : problemWith(context);
    const isOurs = problem === undefined && session.isSignedIn(context);
    if (isOurs && !isLive(context)) onUse();
    if (problem) context.res = await context.html(problem.page, problem.status);
    else await next();
    const all = { ...headers, ...(isOurs && { 'Console-Proof': session.proof }) };
    for (const [name, value] of Object.entries(all)) context.res.headers.set(name, value);
  };
};

const typeOf = (context: Context): string => (context.req.header('content-type') ?? '').toLowerCase();

const pathOf = (context: Context): string => {
  const { pathname, search } = new URL(context.req.url);
  return context.req.method === 'GET' ? safeNext(pathname + search) : '/';
};

const refused = <Status extends number>(status: Status, why: string) => ({
  status,
  page: bare('Refused', html`<main><h1>Refused</h1><p>${why}</p></main>`),
});

/** The browser sends the cookie only if this page is left by its own link. */
const elsewhere = (path: string): Html =>
  bare(
    'From elsewhere',
    html`<main><h1>You come from another site</h1><p><a href="${path}">Open this screen in the console</a></p></main>`,
  );

/** If the address has a token, the script sends the form. */
export const signIn = (next: string, problem = ''): Html =>
  bare(
    'Sign in',
    html`<main class="sign-in"><h1>Sign in</h1>${problem === '' ? '' : html`<p class="problem" role="alert">${problem}</p>`}
<p>Open the address that <code>sis-relay console</code> printed. It works once, in one browser. To get another address, press Enter in the terminal of the console.</p>
<form method="post" action="/session"><input type="hidden" name="next" value="${next}">
<label>Token or whole address <input name="token" type="password" autocomplete="off" required></label><button>Sign in</button></form></main>`,
  );

/** A path of this console. It contains nothing that a browser takes for another site, or that a header cannot hold. */
export const safeNext = (next: string): string => (/^\/(?!\/)[!-[\]-~]*$/.test(next) ? next : '/');
