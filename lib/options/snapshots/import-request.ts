import * as z from 'zod';
import { keyOfFeed, snapshotsPrefix, zipFeed } from './feed.ts';

/** A file that was put. */
export type ImportRequest = {
  key: string;
  /** Undefined: the bucket keeps no versions, or a person asks for what lies there now. */
  versionId?: string | undefined;
  /** Of two notices about one key, the later one's is greater. */
  sequencer?: string | undefined;
  /** The feed, if it is known already. */
  feed?: string | undefined;
  /** No file was put: a person ends the feed. */
  isEnd?: true;
};

const objectSchema = z.object({ key: z.string(), sequencer: z.string().optional() });
const notice = z.object({
  Records: z.tuple([
    z.object({ s3: z.object({ object: objectSchema.extend({ versionId: z.string().optional() }) }) }),
  ]),
});
const event = z.object({
  detail: z.object({ object: objectSchema.extend({ 'version-id': z.string().optional() }) }),
});
const byHand = z.strictObject({ key: z.string(), versionId: z.string().optional() });
const end = z.strictObject({ end: z.union([z.literal(zipFeed), z.string().regex(/^[^/].*\.(csv|zip)$/i)]) });

/** The file of a notice of S3, the same by EventBridge, or a manual request. @throws Error if there is none. */
export const requestIn = (given: unknown): ImportRequest => {
  const request =
    fromNotice(given) ?? fromEvent(given) ?? byHand.safeParse(given).data ?? endIn(end.safeParse(given).data);
  if (request?.key.startsWith(snapshotsPrefix)) return request;
  throw new Error(
    `The event names no file under ${snapshotsPrefix}. Pass {"key": "snapshots/….zip"}, and a versionId for an earlier version; or {"end": "….csv"} to end a feed`,
  );
};

const endIn = (given: z.output<typeof end> | undefined): ImportRequest | undefined =>
  given && { key: keyOfFeed(given.end), feed: given.end, isEnd: true };

const fromNotice = (given: unknown): ImportRequest | undefined => {
  const { key, ...object } = notice.safeParse(given).data?.Records[0].s3.object ?? {};
  // S3 encodes keys as in a form, EventBridge does not encode them.
  return key === undefined ? undefined : { ...object, key: decodeURIComponent(key.replaceAll('+', ' ')) };
};

const fromEvent = (given: unknown): ImportRequest | undefined => {
  const object = event.safeParse(given).data?.detail.object;
  if (object === undefined) return undefined;
  const { 'version-id': versionId, ...named } = object;
  return { ...named, ...(versionId !== undefined && { versionId }) };
};
