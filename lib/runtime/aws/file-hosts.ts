/** @throws if the configured list of hosts has an entry that is not a host name. */
export const checkFileHosts = (hosts: readonly string[]): void => {
  for (const host of hosts) listedHost(host);
};

/** In URL's form: lower case, punycode, no default port. */
export const listedHost = (entry: string): string => {
  const url = URL.parse(`https://${entry}`);
  if (!url || url.href !== `https://${url.host}/` || !/^(\*\.)?[^*/?#@\s]+$/.test(entry))
    throw new Error(`The list of file hosts holds ${JSON.stringify(entry)}, which is not a host name`);
  return url.host;
};
