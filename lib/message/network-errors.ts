import { healsByItself } from './failure-kinds.ts';
import { type SafeText, safe } from './safe-text.ts';

/** Why no usable answer came, by the code of the error. */
type NetworkError = {
  codes: RegExp;
  /** Before the code in brackets. */
  what: SafeText;
  /** Whose it is to mend. Undefined: it heals by itself. */
  remedy?: string;
};

const untilWhen =
  'Until this is corrected, messages wait, usually for up to a day, and then become letters. Messages that wait continue by themselves; letters must be replayed.';

/** The first row that matches counts. Those of the first group come only while a connection is made: nothing was sent. */
const neverConnected: readonly NetworkError[] = [
  {
    codes: /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/,
    what: safe`no connection, as the certificate is out of date`,
    remedy: `Ask the people who run the platform, or the proxy before it, to renew the certificate. ${untilWhen}`,
  },
  {
    codes: /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/,
    what: safe`no connection, as the certificate is for another host`,
    remedy: `1. Compare the host in PLATFORM_URL (platformUrl of the stage) with the platform’s address. 2. If it is wrong, correct it and deploy. 3. If it is right, ask the people who run the platform for a certificate of this host. ${untilWhen}`,
  },
  {
    codes: /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)/,
    what: safe`no connection, as the certificate is not trusted`,
    remedy: `Ask the people who run the platform for a complete and valid chain of certificates. If a proxy decrypts the traffic, ask its owner to let the platform’s host through. ${untilWhen}`,
  },
  {
    codes: /^(ERR_TLS|ERR_SSL|EPROTO)/,
    what: safe`no connection, as TLS failed`,
    remedy: `1. Check scheme and port in PLATFORM_URL (platformUrl of the stage). 2. If they are wrong, correct them and deploy. 3. If they are right, ask the people who run the platform, or the proxy before it, to enable TLS 1.2 or later. ${untilWhen}`,
  },
  {
    codes: /^ENOTFOUND$/,
    what: safe`no connection, as the host’s name does not resolve`,
    remedy: `1. Check the host in PLATFORM_URL (platformUrl of the stage). 2. If it is wrong, correct it and deploy. 3. If it is right, ask the people who run the platform’s DNS to restore the name. ${untilWhen}`,
  },
  {
    codes: /^(UND_ERR_CONNECT_TIMEOUT|ECONNREFUSED|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/,
    what: safe`no connection`,
  },
];

const connected: readonly NetworkError[] = [
  { codes: /TIMEOUT|ETIMEDOUT|TimeoutError|AbortError/, what: safe`no answer in time` },
  { codes: /^/, what: safe`cut off before the answer was complete` },
];

const rowFor = (code: string): NetworkError | undefined =>
  [...neverConnected, ...connected].find(({ codes }) => codes.test(code));

export const connectionFailure = (code: SafeText): SafeText =>
  safe`${rowFor(code)?.what ?? safe`no answer`} (${code})`;

/** What to do about a failure with these words; undefined: it heals by itself, or is no failure of the network. */
export const networkRemedyIn = (text: string): string | undefined => {
  const words = text.slice(Math.max(0, text.lastIndexOf(': no connection')));
  const [, code] = /^: no connection[^(]*\(([A-Z_0-9]+)\)\.?$/.exec(words) ?? [];
  return code === undefined ? undefined : rowFor(code)?.remedy;
};

/** An outage ends by itself; an expired certificate is of the same kind, and somebody must renew it. */
export const needsNobody = ({ kind, error }: { kind: string; error: string }): boolean =>
  healsByItself(kind) && networkRemedyIn(error) === undefined;
