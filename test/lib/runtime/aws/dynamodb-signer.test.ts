import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createSigner } from '../../../../lib/runtime/aws/dynamodb-signer.ts';

const region = 'eu-west-1';
const paths = ['/', '/through/a-proxy/', '/through/a%20proxy/'] as const;

const keys = fc.record({
  accessKeyId: fc.stringMatching(/^[A-Z0-9]{16,20}$/),
  secretAccessKey: fc.string({ minLength: 1 }),
  sessionToken: fc.option(fc.stringMatching(/^[A-Za-z0-9+/=]{1,400}$/), { nil: undefined }),
});
const years = { min: new Date('2025-01-01T00:00:00Z'), max: new Date('2035-01-01T00:00:00Z') };

test.each(paths)(
  'keys that are kept sign for %s as new ones do: any text, at any time, and with any credentials after others',
  async (path) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const of = [fc.array(keys, { minLength: 1, maxLength: 3 }), fc.string({ unit: 'grapheme' })] as const;
    const dates = fc.array(fc.date({ ...years, noInvalidDate: true }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(...of, dates, async (all, body, times) => {
        for (const at of times)
          for (const { sessionToken, ...pair } of [...all, ...all]) {
            vi.setSystemTime(at);
            const credentials = { ...pair, ...(sessionToken !== undefined && { sessionToken }) };
            const endpoint = `https://dynamodb.${region}.amazonaws.com${path}`;
            const { signed } = await createSigner({ region, endpoint, credentials });
            const { headers } = await signed('UpdateItem', body);
            const theirs = new SignatureV4({ region, service: 'dynamodb', sha256: Sha256, credentials });
            const request = new HttpRequest({
              method: 'POST',
              path,
              body,
              headers: {
                host: `dynamodb.${region}.amazonaws.com`,
                'content-type': 'application/x-amz-json-1.0',
                'x-amz-target': 'DynamoDB_20120810.UpdateItem',
              },
            });
            expect(headers).toEqual((await theirs.sign(request)).headers);
          }
      }),
    );
  },
);
