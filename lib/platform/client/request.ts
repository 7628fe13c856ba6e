import { type SafeText, safe } from '../../message/safe-text.ts';
import { signatureName } from '../../runtime/privacy/secrets.ts';
import type { Payload } from './exchange.ts';
import { type ConfiguredOperation, pathOf, type Versions } from './operation.ts';
import { type CallFacts, PlatformError } from './platform-error.ts';

export type CallInput = {
  /** Values of the path's placeholders: positive integers, or plain words. */
  path?: Record<string, number | string>;
  query?: Record<string, string>;
  /** The address of a list's next page, as the platform gives it: replaces the operation's own path and query. */
  next?: string;
  json?: unknown;
  /** Values in the body that no error may repeat. */
  secrets?: string[];
  /** Creates the body each time it is sent, as a stream can be read only once. */
  payload?: () => Promise<Payload>;
};

/** One call before it is authenticated: its query has no signatures yet. */
export type Request = {
  method: string;
  path: string;
  query: [string, string][];
  /** `METHOD /path` for errors: the operation's own path, as the address of a next page may repeat values of the request. */
  call: SafeText;
};

export type Site = {
  baseUrl: string;
  /** The path before the components, such as `/svc/api`. */
  apiRoot: string;
  versions: Versions;
};

/** @throws TypeError if a value of the path or a query parameter is missing, PlatformError if `next` leads to another host. */
export const requestOf = (operation: ConfiguredOperation<unknown>, input: CallInput, site: Site): Request => {
  const { method, name } = operation;
  const path = pathOf(operation, site, input.path ?? {});
  const call = safe`${method} ${path}`;
  if (input.next !== undefined)
    return { method, call, ...followed(input.next, { site, about: { operation, call } }) };
  const missing = operation.query?.filter((each) => !input.query?.[each]) ?? [];
  if (missing.length > 0) throw new TypeError(`${name}: lacks the query parameter ${missing.join(', ')}`);
  return { method, call, path, query: Object.entries(input.query ?? {}) };
};

/** In an address from the platform, signatures are those of an older request. */
const isSignature = new RegExp(`^${signatureName}$`);
const signatures = new RegExp(`(?<=[?&])${signatureName}=[^&]*&?`, 'g');

/** Equal for two addresses of the same page, whenever they were signed. */
export const withoutSignatures = (address: string): string => address.replace(signatures, '');

/**
 * An address from the platform must have the same host and port, and be within the API. It is requested by our own scheme: behind
 * a proxy, the platform may not know that it is called by https.
 */
const followed = (
  next: string,
  { site, about }: { site: Site; about: CallFacts },
): { path: string; query: [string, string][] } => {
  const url = URL.parse(next, site.baseUrl);
  const isOurs =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.host === new URL(site.baseUrl).host &&
    url.username === '' &&
    url.password === '' &&
    url.pathname.startsWith(`${site.apiRoot}/`) &&
    /^(\/[\w.~-]+)+\/?$/.test(url.pathname) &&
    about.operation.method === 'GET';
  // Without the address: its query may hold signatures.
  if (!isOurs)
    throw new PlatformError({
      ...about,
      sent: false,
      unexpected: true,
      message: safe`the address of its next page is outside the API, so that page was not read`,
    });
  return { path: url.pathname, query: [...url.searchParams].filter(([name]) => !isSignature.test(name)) };
};
