import { createHmac } from 'node:crypto';
import * as z from 'zod';
import { privacy, secret } from '../../message/privacy.ts';

/** An application's and a user's ID/key pair; the platform attributes what a call does to that user. */
export const idKeyCredential = z.strictObject({
  type: z.literal('id-key'),
  appId: z.string().min(1),
  appKey: z.string().min(1).register(privacy, secret),
  userId: z.string().min(1),
  userKey: z.string().min(1).register(privacy, secret),
});

export type IdKeyCredential = z.infer<typeof idKeyCredential>;

/** HMAC-SHA256 of UTF-8 data, base64url without padding: 43 characters. */
export const signature = (key: string, data: string): string =>
  createHmac('sha256', key).update(data, 'utf8').digest('base64url');

/**
 * The query parameters that sign an API call. Signed is `METHOD&path&timestamp`, once with the application's key and once with
 * the user's; the path is percent-decoded and in lower case, without host and query. `timestampSeconds` is Unix time on the
 * platform's clock.
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
