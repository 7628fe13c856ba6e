import { lookup as lookupAddresses } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Client, type Dispatcher } from 'undici';
import { MessageFailure } from '../../message/failure.ts';
import { ownText, type SafeText, safe } from '../../message/safe-text.ts';
import { errorCode } from '../privacy/log-text.ts';
import type { FileSource } from './source.ts';
import { addressIn } from './uri.ts';

export type AddressRules = {
  allowLoopback: boolean;
  /** Allows addresses of private networks, for a host that the deployment's settings name. */
  allowPrivate?: boolean | undefined;
  /** The addresses of a host name; the system's resolver unless given. */
  resolve?: ((hostname: string) => Promise<string[]>) | undefined;
};

export type HttpsFileOptions = AddressRules & {
  signal: AbortSignal;
  timeoutMs: number;
  tls?: { ca: string } | undefined;
};

/** Requests a file once and leaves its body unread: its size is in the headers. `name` is the URL without query. */
export const openHttpsFile = async (
  name: SafeText,
  url: URL,
  options: HttpsFileOptions,
): Promise<FileSource> => {
  const { signal, timeoutMs } = options;
  checkAddress(url.hostname, options);
  if (signal.aborted) throw noAnswer(name, signal.reason);
  const client = new Client(url.origin, {
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: 0,
    connect: { ...options.tls, timeout: timeoutMs, lookup: checkedLookup(options) },
  });
  const disconnected = new Promise<Error>((resolve) => {
    client.once('disconnect', (_origin, _targets, error) => resolve(error));
  });
  signal.addEventListener('abort', () => void client.destroy(), { once: true });
  const answer = await client
    .request({
      method: 'GET',
      path: `${url.pathname}${url.search}`,
      headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'sis-relay' },
      signal,
    })
    .catch((error: unknown) => {
      throw noAnswer(name, error);
    });
  return {
    bytes: sizeOf(name, answer),
    body: async () => answer.body,
    // undici takes bytes after the announced length for another answer, and closes the connection: the file was longer than
    // its Content-Length, so it is not complete.
    finish: async () => {
      void client.destroy();
      if ((await disconnected).message === 'bad response')
        throw new MessageFailure('unavailable', safe`${name}: more bytes came than its Content-Length says`);
    },
  };
};

/** No lookup is made for an address, so it is checked before. @throws MessageFailure if it is not allowed. */
export const checkAddress = (hostname: string, rules: AddressRules): void => {
  const literal = addressIn(hostname);
  if (literal) refuseInternal([literal], hostname, rules);
};

/**
 * Resolves and checks the address while connecting, so that a name that resolves differently the next time (DNS rebinding)
 * gains nothing. TLS still verifies the host's name.
 */
export const checkedLookup =
  (options: AddressRules): LookupFunction =>
  (hostname, { all }, callback) => {
    const resolve = options.resolve ?? systemResolve;
    resolve(hostname)
      .then((addresses) => {
        refuseInternal(addresses, hostname, options);
        const found = addresses.map((address) => ({
          address,
          family: ipaddr.parse(address).kind() === 'ipv6' ? 6 : 4,
        }));
        const [first] = found;
        if (!first) throw Object.assign(new Error('The name has no address'), { code: 'ENOTFOUND' });
        return { found, first };
      })
      .then(
        ({ found, first }) => (all ? callback(null, found) : callback(null, first.address, first.family)),
        (error) => callback(error, ''),
      );
  };

const systemResolve = async (hostname: string): Promise<string[]> =>
  (await lookupAddresses(hostname, { all: true })).map(({ address }) => address);

// The settings list the host. One internal address among public ones is enough to refuse: we do not choose which one is used.
const refuseInternal = (addresses: string[], hostname: string, options: AddressRules): void => {
  for (const address of addresses) {
    const range = rangeOf(address);
    if (range === 'unicast' || (range === 'loopback' && options.allowLoopback)) continue;
    if (options.allowPrivate && ['private', 'uniqueLocal'].includes(range)) continue;
    throw new MessageFailure(
      'invalid',
      safe`The host ${ownText(hostname)} has an address that is not public (${range})`,
      {
        remedy:
          'Put the file on a host that has only public addresses, or into S3, and send the message again.',
      },
    );
  }
};

const rangeOf = (address: string) => {
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  // Outside 2000::/3 no IPv6 address is global; the library's ranges do not name all of them (such as ::a.b.c.d).
  const isGlobal = parsed.kind() === 'ipv4' || (parsed.toByteArray()[0] ?? 0) >> 5 === 1;
  return range === 'unicast' && !isGlobal ? 'not global' : range;
};

const sizeOf = (name: SafeText, { statusCode, headers }: Dispatcher.ResponseData): number => {
  if (statusCode !== 200) throw refusal(name, statusCode);
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase();
  const invalid = (message: SafeText) =>
    new MessageFailure('invalid', safe`${name}: ${message}`, {
      remedy:
        'Put the file into S3, or on a server that sends it unchanged and with its Content-Length. Then replay.',
    });
  if (encoding !== 'identity')
    throw invalid(safe`the server sends the file encoded (Content-Encoding), not as it is`);
  const length = headers['content-length'];
  if (typeof length !== 'string' || !/^\d{1,15}$/.test(length))
    throw invalid(safe`the server does not say how long the file is (no Content-Length)`);
  return Number(length);
};

const refusal = (name: SafeText, status: number): MessageFailure => {
  if (status >= 300 && status < 400)
    return new MessageFailure(
      'invalid',
      safe`${name}: answered with a redirect (${status}), which sis-relay does not follow`,
      {
        remedy:
          'Name the address that the redirect leads to, on a host listed in FILE_HOSTS. Then send the message again.',
      },
    );
  if (status >= 500 || status === 408 || status === 429)
    return new MessageFailure('unavailable', safe`${name}: answered with ${status}`);
  return new MessageFailure('invalid', safe`${name}: answered with ${status} instead of the file`, {
    remedy:
      'Make the file readable at this address, or name another address (a signed one may have expired). Then replay.',
  });
};

const noAnswer = (name: SafeText, error: unknown): MessageFailure => {
  if (error instanceof MessageFailure) return error;
  return new MessageFailure('unavailable', safe`${name}: no answer (${errorCode(error)})`, { cause: error });
};
