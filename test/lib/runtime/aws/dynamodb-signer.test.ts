import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSigner } from '../../../../lib/runtime/aws/dynamodb-signer.ts';

const place = { region: 'eu-west-1', host: 'dynamodb.eu-west-1.amazonaws.com' };
const paths = ['/', '/through/a-proxy/', '/through/a%20proxy/'] as const;
const signers = paths.map((path) => ({ path, sign: createSigner({ ...place, path }) }));

const keys = fc.record({
  accessKeyId: fc.stringMatching(/^[A-Z0-9]{16,20}$/),
  secretAccessKey: fc.string({ minLength: 1 }),
  sessionToken: fc.option(fc.stringMatching(/^[A-Za-z0-9+/=]{1,400}$/), { nil: undefined }),
});
const years = { min: new Date('2025-01-01T00:00:00Z'), max: new Date('2035-01-01T00:00:00Z') };

test.each(signers)(
  'signs for $path as the SDK’s signer does: any text, at any time, and with any credentials after others',
  async ({ path, sign }) => {
    const of = [fc.array(keys, { minLength: 1, maxLength: 3 }), fc.string({ unit: 'grapheme' })] as const;
    const dates = fc.array(fc.date({ ...years, noInvalidDate: true }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(...of, dates, async (all, body, times) => {
        for (const at of times)
          for (const credentials of [...all, ...all]) {
            const { sessionToken, ...pair } = credentials;
            const theirs = new SignatureV4({
              ...{ region: place.region, service: 'dynamodb', sha256: Sha256 },
              credentials: { ...pair, ...(sessionToken !== undefined && { sessionToken }) },
            });
            const target = 'DynamoDB_20120810.UpdateItem';
            const { headers } = await theirs.sign(
              new HttpRequest({
                ...{ method: 'POST', path, body },
                headers: {
                  ...{
                    host: place.host,
                    'content-type': 'application/x-amz-json-1.0',
                    'x-amz-target': target,
                  },
                },
              }),
              { signingDate: at },
            );
            expect(sign(credentials, { target, body, atMs: at.getTime() })).toEqual(headers);
          }
      }),
    );
  },
);
