import * as z from 'zod';

/** Files under this prefix are imported. */
export const snapshotsPrefix = 'snapshots/';

const notice = z.object({
  Records: z.tuple([z.object({ s3: z.object({ object: z.object({ key: z.string() }) }) })]),
});
const event = z.object({ detail: z.object({ object: z.object({ key: z.string() }) }) });
const byHand = z.strictObject({ key: z.string() });

/** The key of the file from a notice of S3, the same by EventBridge, or a manual request. @throws Error if there is none. */
export const keyIn = (given: unknown): string => {
  const [told, wrapped, asked] = [notice, event, byHand].map((schema) => schema.safeParse(given)) as [
    z.ZodSafeParseResult<z.output<typeof notice>>,
    z.ZodSafeParseResult<z.output<typeof event>>,
    z.ZodSafeParseResult<z.output<typeof byHand>>,
  ];
  // S3 encodes keys as in a form, EventBridge does not encode them.
  const key = told.success
    ? decodeURIComponent(told.data.Records[0].s3.object.key.replaceAll('+', ' '))
    : (wrapped.data?.detail.object.key ?? asked.data?.key);
  if (key?.startsWith(snapshotsPrefix)) return key;
  throw new Error(`The event names no file under ${snapshotsPrefix}. Pass {"key": "snapshots/….zip"}`);
};

/** Tables become messages by a mapping file. */
export const isTable = (key: string): boolean => /\.csv$/i.test(key);

export const fileNameOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1);

/** Other files may be there, such as column mappings. */
export const isSnapshot = (key: string): boolean => /\.zip$/i.test(key) || isTable(key);
