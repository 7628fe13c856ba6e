import * as z from 'zod';
import { itemsIn, readJson } from '../../message/json.ts';
import { safe } from '../../message/safe-text.ts';
import { failure } from './ask.ts';

export type Notice = z.infer<typeof noticeSchema>;

/** Larger numbers of JSON lose digits. */
const idSchema = z
  .union([z.string().min(1).max(200), z.int().min(0).max(Number.MAX_SAFE_INTEGER)])
  .transform(String)
  .refine((id) => id.isWellFormed());

const noticeSchema = z.looseObject({ id: idSchema });

/**
 * The notices of a page, in its order.
 * @throws MessageFailure if the page is not valid, or its ids do not ascend: then no notice may be skipped, as what follows could
 * not be requested.
 */
export const noticesIn = (
  text: string,
  { after, limit }: { after: string | undefined; limit: number },
): Notice[] => {
  const count = itemsIn(text);
  if (count > limit * 10)
    throw failure(safe`The page of changes has ${count} notices, but at most ${limit} were requested`);
  const read = readJson(text);
  if ('problem' in read) throw failure(safe`The page of changes ${read.problem}`);
  if (!Array.isArray(read.json)) throw failure(safe`The page of changes is not a list of notices`);
  const seen = new Set(after === undefined ? [] : [after]);
  let last = after;
  return read.json.map((each: unknown, at) => {
    const parsed = noticeSchema.safeParse(each);
    if (!parsed.success)
      throw failure(
        safe`Notice ${at + 1} of the page has no valid id: it must be text or a safe whole number`,
      );
    const { id } = parsed.data;
    if (seen.has(id))
      throw failure(safe`The page repeats an id: notice ${at + 1} has the id of an earlier notice`);
    if (last !== undefined && isBefore(id, last))
      throw failure(
        safe`The ids of the page are not in order: the id of notice ${at + 1} is lower than the one before it`,
      );
    seen.add(id);
    last = id;
    return parsed.data;
  });
};

const digits = /^\d+$/;

/** Only numbers have their own order; texts keep the page's order. */
const isBefore = (id: string, last: string): boolean =>
  digits.test(id) && digits.test(last) && BigInt(id) < BigInt(last);

/** A sequence that sorts as the ids do; undefined for texts. */
export const sequenceOf = (id: string): string | undefined =>
  digits.test(id) ? id.padStart(20, '0') : undefined;
