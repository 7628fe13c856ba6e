import { createHmac } from 'node:crypto';

export type Keys = { appId: string; appKey: string; userId: string; userKey: string };

const sign = (key: string, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64url');

/** A path with the query that proves it, as briefly as it can be written. */
export const signedPath = (method: string, path: string, keys: Keys): string => {
  const seconds = Math.floor(Date.now() / 1000);
  const base = `${method}&${path.toLowerCase()}&${seconds}`;
  return `${path}?x_a=${keys.appId}&x_b=${keys.userId}&x_c=${sign(keys.appKey, base)}&x_d=${sign(keys.userKey, base)}&x_t=${seconds}`;
};
