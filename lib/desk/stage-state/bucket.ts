import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { unlessError } from '../../runtime/aws/error.ts';
import type { JobStore } from '../../runtime/jobs/store.ts';
import { bucketOf } from '../../stage/audit-log.ts';
import { RefusedError } from '../../stage/command-errors.ts';
import type { Target } from '../../stage/target.ts';

type Ids = { prefix: string; signal: AbortSignal };

/** The bucket in which functions record what operators review. */
export type ReviewBucket = Pick<JobStore, 'open' | 'writeJson' | 'addressOf'> & {
  /** Undefined if there is no such object. It needs no right to list the bucket. */
  openIfAny(key: string): Promise<Readable | undefined>;
  textIfAny(key: string): Promise<string | undefined>;
  /** @throws SyntaxError if the object is no JSON: what was decided must not be taken for undecided. */
  jsonIfAny(key: string): Promise<unknown>;
  /** What is directly under the prefix, folders by their names, in order. */
  namesUnder(prefix: string, signal: AbortSignal): Promise<string[]>;
  /** Ids of runs or snapshots that begin so, newest first: an id begins with its time. */
  idsIn(beginning: string, ids: Ids): Promise<string[]>;
};

const missing = /^(NoSuchKey|NotFound)$/;
const isId = /^\d{8}T\d{6}Z-[0-9a-f]{8}$/;

export const reviewBucketOf = async (target: Target): Promise<ReviewBucket> => {
  const [s3, bucket] = await Promise.all([target.s3(), bucketOf(target)]);
  const { createJobStore } = await import('../../runtime/jobs/store.ts');
  const store = createJobStore({ s3, bucket });
  const openIfAny = (key: string) => unlessError(missing, () => store.open(key));
  const textIfAny = async (key: string): Promise<string | undefined> => {
    const body = await openIfAny(key);
    return body && text(body);
  };
  const namesUnder = async (Prefix: string, signal: AbortSignal): Promise<string[]> => {
    const { paginateListObjectsV2 } = await import('@aws-sdk/client-s3');
    const input = { Bucket: bucket, Prefix, Delimiter: '/' };
    const names: string[] = [];
    for await (const page of paginateListObjectsV2({ client: s3 }, input, { abortSignal: signal }))
      names.push(
        ...(page.CommonPrefixes ?? []).map(({ Prefix = '' }) => Prefix.slice(0, -1)),
        ...(page.Contents ?? []).map(({ Key = '' }) => Key),
      );
    return names.sort();
  };
  return {
    ...store,
    openIfAny,
    namesUnder,
    textIfAny,
    jsonIfAny: async (key) => {
      const json = await textIfAny(key);
      return json === undefined ? undefined : JSON.parse(json);
    },
    idsIn: async (beginning, { prefix, signal }) =>
      (await namesUnder(`${prefix}${beginning}`, signal))
        .map((name) => name.slice(prefix.length))
        .filter((name) => isId.test(name))
        .reverse(),
  };
};

/** The id that is given, or begins so. @throws RefusedError if none or more than one does. */
export const idGiven = async (
  given: string,
  { idsIn }: ReviewBucket,
  { things, none, ...ids }: Ids & { things: string; none: string },
): Promise<string> => {
  const found = /^[\w-]+$/.test(given) ? await idsIn(given, ids) : [];
  const [id, second] = found;
  if (id === undefined) throw new RefusedError(none);
  if (second === undefined || id === given) return id;
  throw new RefusedError(
    `${found.length} ${things} have an id that begins with ${given}, such as ${id} and ${second}. Give more characters.`,
  );
};
