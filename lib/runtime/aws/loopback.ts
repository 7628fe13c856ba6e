/** Whether a URL leads to this machine: only then may requests with keys, tokens or grades go without TLS. */
export const isLoopback = ({ hostname }: URL): boolean =>
  // URL normalizes every spelling of an address, as in 127.0.0.1 for 0x7f.1.
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

/** HTTPS, or plain HTTP to this machine. */
export const isPrivate = (url: URL): boolean =>
  url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url));
