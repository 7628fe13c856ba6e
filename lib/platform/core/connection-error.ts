/** These codes come only while a connection is made: nothing was sent. */
export const isNeverConnected = (code: string): boolean =>
  /^(UND_ERR_CONNECT_TIMEOUT|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(
    code,
  );

/** Why no usable answer came, by the code of the error. */
export const connectionFailure = (code: string): string => {
  if (isNeverConnected(code)) return `no connection (${code})`;
  if (/TIMEOUT|TimeoutError|AbortError/.test(code)) return `no answer in time (${code})`;
  return `cut off before the answer was complete (${code})`;
};
