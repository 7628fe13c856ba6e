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
  'Messages wait for it, as a rule for a day, and go on by themselves; then they become letters, to be replayed.';

/** The first row that matches counts. Those of the first group come only while a connection is made: nothing was sent. */
const neverConnected: readonly NetworkError[] = [
  {
    codes: /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/,
    what: safe`no connection, as the certificate is out of date`,
    remedy: `Have the people who run the platform renew its certificate, or what presents it in front of the platform. ${untilWhen}`,
  },
  {
    codes: /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/,
    what: safe`no connection, as the certificate is for another host`,
    remedy: `Compare the host in PLATFORM_URL (platformUrl of the stage) with the platform’s address: correct it and deploy, or have the people who run the platform present a certificate for it. ${untilWhen}`,
  },
  {
    codes: /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)/,
    what: safe`no connection, as the certificate is not trusted`,
    remedy: `Have the people who run the platform present a whole and valid chain of certificates. If something between decrypts the traffic, such as a proxy, have its owner let the platform’s host through. ${untilWhen}`,
  },
  {
    codes: /^(ERR_TLS|ERR_SSL|EPROTO)/,
    what: safe`no connection, as TLS failed`,
    remedy: `Check scheme and port in PLATFORM_URL (platformUrl of the stage): correct it and deploy, or have the people who run the platform, or a proxy before it, enable TLS 1.2 or later. ${untilWhen}`,
  },
  {
    codes: /^ENOTFOUND$/,
    what: safe`no connection, as the host’s name does not resolve`,
    remedy: `Check the host in PLATFORM_URL (platformUrl of the stage): correct it and deploy, or have the people who run the platform’s DNS restore the name. ${untilWhen}`,
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

/** What to do about a failure with these words, wherever they are kept; undefined: it heals by itself, or is no failure of the network. */
export const networkRemedyIn = (text: string): string | undefined => {
  const words = text.slice(Math.max(0, text.lastIndexOf(': no connection')));
  const [, code] = /^: no connection[^(]*\(([A-Z_0-9]+)\)\.?$/.exec(words) ?? [];
  return code === undefined ? undefined : rowFor(code)?.remedy;
};
