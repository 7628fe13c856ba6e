/** The code of an error of undici or the system; else its name, as those of a signal have a number for a code. */
export const codeOf = (error: unknown): string =>
  error instanceof Error ? ('code' in error && typeof error.code === 'string' ? error.code : error.name) : '';

/** Only the making of a connection ends with these codes: nothing was sent. */
export const isNeverConnected = (code: string): boolean =>
  /^(UND_ERR_CONNECT_TIMEOUT|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(
    code,
  );

/** Why no usable answer came. */
export const reasonOf = (code: string): string => {
  if (isNeverConnected(code)) return `no connection (${code})`;
  if (/TIMEOUT|TimeoutError|AbortError/.test(code)) return `no answer in time (${code})`;
  return `cut off before the answer was complete (${code})`;
};
