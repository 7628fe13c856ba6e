import { maskedBody } from '../../redaction/shown-message.ts';
import { bodyIn } from '../reading/letter-line.ts';
import { type Bucket, readIn } from '../reading/whole.ts';
import { type Difference, differences } from './change.ts';

/** The message of a letter as it was before an edit, whole and unmasked; `missing`: why it cannot be fetched. */
export const originalOf = async (
  target: Bucket,
  address: string,
): Promise<{ body: string } | { missing: string }> => {
  const read = await readIn(target, address, 'edited');
  if ('missing' in read) return read;
  const body = bodyIn(read.text);
  return body === undefined ? { missing: 'what is kept there is no letter' } : { body };
};

export type Compared = {
  difference: Difference[];
  /** Parsed; undefined where it is no JSON object. */
  before: unknown;
  after: unknown;
};

/** A message before and after an edit, masked: whoever looks at it need not be who made it. */
export const comparedWith = (original: string, now: string): Compared => ({
  difference: differences(original, now, { reveal: false, isTyped: false }),
  before: maskedBody(original),
  after: maskedBody(now),
});
