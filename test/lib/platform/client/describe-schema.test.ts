import { expect, test } from 'vitest';
import * as z from 'zod';
import { expectedBy } from '../../../../lib/platform/client/describe-schema.ts';
import { pageOf } from '../../../../lib/platform/resources/paging.ts';
import { link } from './link-schema.ts';

test('a schema is described like the JSON that came', () => {
  expect(expectedBy(link)).toBe(
    '{ Id: number, Name: string or null, Points?: number or null, IsOpen?: boolean, Type?: { Id: number, … }, Files?: an array of { Size: number, … } or null, … }',
  );
  expect(expectedBy(pageOf(z.looseObject({ Id: z.number() })))).toBe(
    'a list, or a page, of { Id: number, … }',
  );
});
