import { type IdKeyCredential, idKeyCredential, signature } from '../../platform/auth/id-key.ts';
import { RefusedError, UsageError } from '../command-errors.ts';

/** An application as it is registered on the platform. */
export type App = { appId: string; appKey: string };

export type TokenEntry = App & {
  /** Scheme, host and port of the platform. */
  baseUrl: string;
  /** Path of the token entry; default: beside the API, as in `/svc/auth/api/token`. */
  entryPath?: string | undefined;
  /** The path before the components, such as `/svc/api`. */
  apiRoot: string;
  /** The address to which the platform redirects the browser, with the user's id and key. */
  callback: string;
};

/**
 * The address at which a user creates a user id and key; it is signed with the application's key.
 * @throws UsageError if the callback is no address, or the entry path no path.
 */
export const authUrl = ({ baseUrl, entryPath, apiRoot, callback, appId, appKey }: TokenEntry): string => {
  if (!/^https?:$/.test(URL.parse(callback)?.protocol ?? ''))
    throw new UsageError(`The callback must be an address such as https://localhost/done, not ${callback}`);
  const entry = URL.parse(entryPath ?? `${apiRoot.replace(/\/api$/, '')}/auth/api/token`, baseUrl);
  if (entry === null) throw new UsageError(`${entryPath} must be a path such as /svc/auth/api/token`);
  // The callback is signed before it is encoded.
  const query = [
    ['x_target', callback],
    ['x_a', appId],
    ['x_b', signature(appKey, callback)],
  ];
  const written = query.map(([name, value = '']) => `${name}=${encodeURIComponent(value)}`);
  return `${entry}?${written.join('&')}`;
};

/**
 * The secret of the user whose browser was sent to this address.
 * @throws RefusedError that says what the address lacks, and never its contents.
 */
export const credentialFromCallback = (address: string, { appId, appKey }: App): IdKeyCredential => {
  const url = URL.parse(address.trim());
  if (url === null) throw notStored('This is not an address. Copy the whole address from the browser.');
  if (isErrorPage(url.pathname)) throw notStored(errorPage);
  const userId = url.searchParams.get('x_a') ?? '';
  const userKey = url.searchParams.get('x_b') ?? '';
  if (userId === '' || userKey === '')
    throw notStored(
      'The address holds no user id and key (x_a, x_b). Either the user was not let in, or only a part of the address was copied.',
    );
  if (url.searchParams.has('x_target') || userId === appId)
    throw notStored(
      'The x_a of this address is not a user id. It may be the address that the command printed, not the one that the browser was redirected to.',
    );
  return idKeyCredential.parse({ type: 'id-key', appId, appKey, userId, userKey });
};

const notStored = (reason: string) => new RefusedError(`${reason}\nNothing was stored.`);

export type EntryAnswer = { status: number; location?: string | undefined };

/** Explains the platform's answer to the entry address to a person. */
export const explainEntry = ({ status, location }: EntryAnswer, callback: string): string => {
  const isRedirect = status >= 300 && status < 400;
  const url = isRedirect ? URL.parse(location ?? '', 'https://platform.invalid') : null;
  if (url === null) {
    if (status === 200) return 'The platform asks the user to log in. Open the address in a browser.';
    return `The platform answered ${status}. Check its address, and the path of the token entry (--entry-path).`;
  }
  if (isErrorPage(url.pathname)) return errorPage;
  if (url.href.startsWith(withoutQuery(callback)) && url.searchParams.has('x_b'))
    return 'The platform lets in the user who is logged in here, and keeps the session. For another user, log out on the platform first.';
  return `The platform redirects the user to ${url.pathname}, as for a login. Open the address in a browser.`;
};

/** Whether the token entry refuses every user. */
export const isClosed = ({ status, location }: EntryAnswer): boolean =>
  status >= 400 ||
  (status >= 300 && isErrorPage(URL.parse(location ?? '', 'https://platform.invalid')?.pathname ?? ''));

const isErrorPage = (path: string): boolean => /\/error\/\d{3}\b/.test(path);

const withoutQuery = (address: string): string => address.replace(/[?#].*/s, '');

const errorPage = [
  'The platform sent the user to its error page and does not say why. Known causes are:',
  '- the application id does not belong to a registered and enabled application;',
  '- the signature is wrong: the application key is another one, or the callback was changed or encoded after it was signed;',
  '- the callback is not the one registered for the application;',
  '- the path of the token entry is another one on this platform.',
].join('\n');
