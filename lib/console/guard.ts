import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { type Html, html } from '../markup/html.ts';
import { bare } from './page.ts';

/** Who may come in: whoever has the token of the printed address, once; then the browser that showed it. */
export type Session = {
  token: string;
  /** Signs this browser in. False: it is not the token, or it was used before. */
  exchange(context: Context, token: string): boolean;
  isSignedIn(context: Context): boolean;
};

/** Cookies do not know ports, so that each console has a name of its own. */
export const createSession = (port: number): Session => {
  const name = `sis-relay-console-${port}`;
  const token = randomBytes(32).toString('base64url');
  const key = randomBytes(32).toString('base64url');
  let isUsed = false;
  return {
    token,
    exchange: (context, given) => {
      if (isUsed || !isSame(given, token)) return false;
      isUsed = true;
      setCookie(context, name, key, { httpOnly: true, sameSite: 'Strict', path: '/' });
      return true;
    },
    isSignedIn: (context) => isSame(getCookie(context, name) ?? '', key),
  };
};

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Takes the same time, whatever is given. */
const isSame = (given: string, wanted: string): boolean => timingSafeEqual(digestOf(given), digestOf(wanted));

/** Of every answer. */
export const headers = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  // With `no-referrer`, browsers send forms with `Origin: null`. No other site gets one.
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
};

/** What a page needs before anybody has signed in, none of which tells anything. */
export const publicPaths = new Set(['/console.css', '/console.js', '/icon.svg', '/session']);

/** They change nothing but what a screen shows. */
const harmlessPosts = /^\/(session|letters\/search|replay|uncertain|publish|runs\/[\w-]+\/(answer|stop))$/;

type GuardOptions = { host: string; session: Session; readOnly: boolean; onUse(): void };

/**
 * Refuses what the operator's own browser would not send from these pages: DNS rebinding by the exact `Host`; forms and scripts of other
 * sites by `Origin` and `Sec-Fetch-Site`, on every change, whatever its content type; everybody else by the cookie.
 */
export const guard = ({ host, session, readOnly, onUse }: GuardOptions): MiddlewareHandler => {
  const problemWith = (context: Context): { status: 401 | 403 | 405 | 415 | 421; page: Html } | undefined => {
    const { method, path } = context.req;
    const isRead = method === 'GET';
    const from = context.req.header('sec-fetch-site');
    if (context.req.header('host') !== host || new URL(context.req.url).host !== host)
      return refused(421, `This console answers to http://${host} alone.`);
    if (!isRead && method !== 'POST') return refused(405, `There is nothing to ${method} here.`);
    if (isRead && from !== undefined && !['same-origin', 'none'].includes(from))
      return { status: 403, page: bare('From elsewhere', elsewhere(context.req.url)) };
    if (!isRead && (context.req.header('origin') !== `http://${host}` || from !== 'same-origin'))
      return refused(403, 'A change must come from a page of this console, in a browser of today.');
    if (!isRead && !/^(application\/x-www-form-urlencoded|multipart\/form-data)(;|$)/.test(typeOf(context)))
      return refused(415, 'A change must be a form.');
    if (publicPaths.has(path)) return undefined;
    if (!session.isSignedIn(context)) return { status: 401, page: signIn(pathOf(context)) };
    if (!isRead && readOnly && !harmlessPosts.test(path))
      return refused(403, 'This console was started with --read-only.');
    return undefined;
  };
  return async (context, next) => {
    const problem = problemWith(context);
    if (problem) context.res = await context.html(problem.page, problem.status);
    else {
      if (session.isSignedIn(context) && !context.req.path.endsWith('/live')) onUse();
      await next();
    }
    // Last: a stream sets some of them itself.
    for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value);
  };
};

const typeOf = (context: Context): string => (context.req.header('content-type') ?? '').toLowerCase();

const pathOf = (context: Context): string => {
  const { pathname, search } = new URL(context.req.url);
  return context.req.method === 'GET' ? safeNext(pathname + search) : '/';
};

const refused = <Status extends number>(status: Status, why: string) => ({
  status,
  page: bare(
    'Refused',
    html`<main><h1>Refused</h1><p>${why}</p><p><a href="/">To the console</a></p></main>`,
  ),
});

/** A colleague's link: the browser sends the cookie only when this page is left by its own link. */
const elsewhere = (url: string): Html => {
  const { pathname, search } = new URL(url);
  return html`<main><h1>You come from another site</h1>
<p><a href="${`/${pathname.replace(/^\/+/, '')}${search}`}">Open this screen of the console</a></p></main>`;
};

/** The script sends the form, where the address has a token. */
export const signIn = (next: string, problem = ''): Html =>
  bare(
    'Sign in',
    html`<main class="sign-in"><h1>Sign in</h1>${problem === '' ? '' : html`<p class="problem" role="alert">${problem}</p>`}
<p>Open the address that <code>sis-relay console</code> printed. It lets one browser in, once; started anew, it prints another.</p>
<form method="post" action="/session"><input type="hidden" name="next" value="${next}">
<label>Token <input name="token" type="password" autocomplete="off" required></label><button>Sign in</button></form></main>`,
  );

/** A path of this console, and nothing that a browser takes for another site, or a header cannot hold. */
export const safeNext = (next: string): string => (/^\/(?!\/)[!-[\]-~]*$/.test(next) ? next : '/');
