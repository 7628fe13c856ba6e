import ipaddr from 'ipaddr.js';
import { MessageFailure } from '../../message/failure.ts';
import { hidden } from '../../message/hidden.ts';
import { type SafeText, safe, safeMatch } from '../../message/safe-text.ts';
import { listedHost } from '../aws/file-hosts.ts';
import { isLoopback } from '../aws/loopback.ts';
import { fileName } from '../privacy/file-name.ts';

/** Where files may come from: host names as in `files.example.org`, `files.example.org:8443` or `*.example.org`. */
export type FileRules = {
  hosts: readonly string[];
  /** For development: allows loopback addresses, and plain http to them. The host must still be listed. */
  allowLoopback: boolean;
};

/** `name` is what errors may show: without the query, as pre-signed URLs have their signature there. */
export type FileLocation = { name: SafeText } & (
  | { scheme: 's3'; bucket: string; key: string }
  | { scheme: 'https'; url: URL }
);

/** Parses a message's `uri`; throws `invalid` if it names no file that may be opened. */
export const parseFileUri = (uri: string, rules: FileRules): FileLocation => {
  const location = locate(uri, rules);
  if (typeof location === 'string')
    throw new MessageFailure('invalid', location, {
      remedy:
        'Name the file as s3://bucket/key, or as https:// on a host listed in FILE_HOSTS, and send it again.',
    });
  return location;
};

/** For a schema: what is wrong with a `uri`, in one sentence, or undefined. Without rules, any host is allowed. */
export const fileUriProblem = (uri: string, rules?: FileRules): SafeText | undefined => {
  const location = locate(uri, rules);
  return typeof location === 'string' ? location : undefined;
};

const locate = (uri: string, rules: FileRules | undefined): FileLocation | SafeText =>
  /^s3:/i.test(uri) ? locateObject(uri) : locateUrl(uri, rules);

// The key is taken literally: S3 keys may hold any character, and decoding one would name another object.
const locateObject = (uri: string): FileLocation | SafeText => {
  const { bucket = '', key = '' } = /^s3:\/\/(?<bucket>[^/]*)\/(?<key>.*)$/is.exec(uri)?.groups ?? {};
  // The SDK puts the bucket into the host name, and also accepts an ARN: only a plain name is allowed.
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) return safe`The uri names no valid S3 bucket`;
  const shown = fileName(`s3://${bucket}`);
  if (key === '') return safe`The uri names no key in the bucket of ${shown}`;
  if (!key.isWellFormed() || Buffer.byteLength(key) > 1024)
    return safe`The uri's key in the bucket of ${shown} is not valid: a key has at most 1,024 bytes of UTF-8`;
  // In a path-style request, such a segment could lead into another bucket.
  if (key.split('/').some((segment) => segment === '.' || segment === '..'))
    return safe`The uri's key in the bucket of ${shown} has a segment that consists only of periods`;
  return { scheme: 's3', bucket, key, name: fileName(`s3://${bucket}/${key}`) };
};

const locateUrl = (uri: string, rules: FileRules | undefined): FileLocation | SafeText => {
  const url = URL.parse(uri);
  if (!url) return safe`The uri is neither s3://bucket/key nor a URL`;
  const plain = url.protocol === 'http:' && (rules?.allowLoopback ?? true) && isLoopback(url);
  if (url.protocol !== 'https:' && !plain)
    return safe`The uri's scheme is ${schemeText(url)}, but only s3:// and https:// are allowed`;
  const shown = fileName(url.origin);
  if (url.username || url.password)
    return safe`The uri contains a user name or a password for the host of ${shown}`;
  if (rules && !rules.hosts.some((host) => matches(url.host, listedHost(host))))
    return safe`The host of ${shown} is not on the list of file hosts`;
  return { scheme: 'https', url, name: fileName(`${url.origin}${url.pathname}`) };
};

/** A sentence with a colon is a URL, too: only schemes of which files have been named are no content. */
const schemeText = ({ protocol }: URL): SafeText =>
  safeMatch(protocol, /^(https?|ftps?|sftp|scp|file|data|blob|smb|nfs|gs|azure|abfss?):$/) ?? hidden;

/** `*.example.org` matches every name below example.org, but not example.org itself. */
const matches = (host: string, listed: string): boolean =>
  listed.startsWith('*.') ? host.endsWith(listed.slice(1)) : host === listed;

/** Undefined if a URL's host is a name and not an address. */
export const addressIn = (hostname: string): string | undefined => {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(bare) ? bare : undefined;
};
