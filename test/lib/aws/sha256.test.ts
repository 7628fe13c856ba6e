import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Sha256 } from '../../../lib/aws/sha256.ts';

const data = fc.oneof(fc.string({ unit: 'grapheme' }), fc.uint8Array());
const hexOf = async (hash: Sha256): Promise<string> => Buffer.from(await hash.digest()).toString('hex');

test('takes bytes in whatever they lie', async () => {
  const { buffer } = new Uint8Array([1, 2, 3, 4]);
  const hash = new Sha256(new DataView(buffer, 1));
  hash.update(buffer);
  expect(await hexOf(hash)).toBe(
    createHmac('sha256', Buffer.from([2, 3, 4]))
      .update(Buffer.from([1, 2, 3, 4]))
      .digest('hex'),
  );
});

test('is SHA-256 of all that it was given, with a secret its HMAC', async () => {
  const given = [fc.array(data), fc.option(data, { nil: undefined })] as const;
  await fc.assert(
    fc.asyncProperty(...given, async (pieces, secret) => {
      const own = new Sha256(secret);
      const node = secret === undefined ? createHash('sha256') : createHmac('sha256', secret);
      for (const piece of pieces) {
        own.update(piece);
        node.update(piece);
      }
      const expected = node.digest('hex');
      // A key is made ready once, and each digest may be asked for again.
      expect([await hexOf(own), await hexOf(own)]).toEqual([expected, expected]);
      own.reset();
      expect(await hexOf(own)).toBe(await hexOf(new Sha256(secret)));
    }),
  );
});
