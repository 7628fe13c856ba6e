import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';

type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined };
type Signing = { target: string; body: string; atMs: number };

/**
 * Signature Version 4 of POST requests to one address, for a third of what the SDK's signer costs: the day's key is kept, and the
 * names of the headers are in order as they are written.
 */
export const createSigner = ({ region, host, path }: { region: string; host: string; path: string }) => {
  const canonicalPath = encodeURIComponent(path).replaceAll('%2F', '/');
  let kept: { of: string; key: KeyObject } | undefined;
  const keyOf = (secret: string, date: string): KeyObject => {
    const of = `${date} ${secret}`;
    if (kept?.of !== of) {
      const parts = [date, region, 'dynamodb', 'aws4_request'];
      const bytes = parts.reduce<string | Buffer>(
        (key, part) => createHmac('sha256', key).update(part).digest(),
        `AWS4${secret}`,
      );
      kept = { of, key: createSecretKey(bytes as Buffer) };
    }
    return kept.key;
  };

  return (
    { accessKeyId, secretAccessKey, sessionToken }: Credentials,
    { target, body, atMs }: Signing,
  ): Record<string, string> => {
    const time = new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, '');
    const date = time.slice(0, 8);
    const scope = `${date}/${region}/dynamodb/aws4_request`;
    const digest = hash('sha256', body);
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      host,
      'x-amz-content-sha256': digest,
      'x-amz-date': time,
      ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
      'x-amz-target': target,
    };
    const names = Object.keys(headers).join(';');
    const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
    const canonical = ['POST', canonicalPath, '', lines.join(''), names, digest].join('\n');
    const signature = createHmac('sha256', keyOf(secretAccessKey, date))
      .update(['AWS4-HMAC-SHA256', time, scope, hash('sha256', canonical)].join('\n'))
      .digest('hex');
    const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
    return { ...headers, authorization };
  };
};
