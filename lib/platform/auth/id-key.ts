import { createHmac } from 'node:crypto';
import * as z from 'zod';

/** An application's and a user's ID/key pair; what a call does is attributed to that user. */
export const idKeyCredential = z.strictObject({
  type: z.literal('id-key'),
  appId: z.string().min(1),
  appKey: z.string().min(1),
  userId: z.string().min(1),
  userKey: z.string().min(1),
});

export type IdKeyCredential = z.infer<typeof idKeyCredential>;

/** HMAC-SHA256 of UTF-8 data, base64url without padding: 43 characters. */
export const signature = (key: string, data: string): string =>
  createHmac('sha256', key).update(data, 'utf8').digest('base64url');

/**
 * The query that proves an API call: `METHOD&path&timestamp`, path percent-decoded and in lower case, without host and
 * query, signed with the application's and with the user's key. `timestampSeconds` is Unix time on the platform's clock.
 */
export const signedQuery = (
  request: { method: string; path: string },
  credential: IdKeyCredential,
  timestampSeconds: number,
): Record<string, string> => {
  const base = `${request.method.toUpperCase()}&${decodeURIComponent(request.path).toLowerCase()}&${timestampSeconds}`;
  return {
    x_a: credential.appId,
    x_b: credential.userId,
    x_c: signature(credential.appKey, base),
    x_d: signature(credential.userKey, base),
    x_t: String(timestampSeconds),
  };
};

/**
 * How far the platform's clock is ahead of ours, in seconds, told by the body of a refused timestamp
 * (`Timestamp out of range\r\n<server epoch seconds>`, or with other whitespace, or none); undefined where the text is another.
 */
export const skewToldBy = (text: string, nowMs: number): number | undefined => {
  // Of a number that is cut off, the rest would teach a clock that is decades wrong.
  const serverSeconds = /timestamp out of range\s*(\d{1,12})(?![\d…])/i.exec(text)?.[1];
  return serverSeconds === undefined ? undefined : Number(serverSeconds) - Math.floor(nowMs / 1000);
};
