import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { listOf } from '../../../../lib/platform/client/list-of.ts';
import { pageOf } from '../../../../lib/platform/resources/paging.ts';

const item = z.looseObject({ Id: z.number(), Name: z.string() });

test('a list is what its items are', () => {
  const wrapped = z.object({ items: listOf(item) });
  expect(wrapped.parse({ items: [{ Id: 1, Name: 'a', more: 1 }] })).toEqual({
    items: [{ Id: 1, Name: 'a', more: 1 }],
  });
  expect(wrapped.safeParse({}).error?.issues).toMatchObject([{ path: ['items'], expected: 'array' }]);
  expect(wrapped.safeParse({ items: [{ Id: 1, Name: 'a' }, { Id: 2 }] }).error?.issues).toMatchObject([
    { path: ['items', 1, 'Name'], expected: 'string' },
  ]);
});

test('a list of 1 MB whose items are all wrong tells the first faults alone', () => {
  const many = Array.from({ length: 350_000 }, () => ({}));
  const page = pageOf(item).safeParse(many);
  expect(page.error?.issues.length).toBeLessThan(50);
  expect(page.error?.issues[0]).toMatchObject({ path: ['items', 0, 'Id'], expected: 'number' });
});

test('every list of the platform is read so', () => {
  const folder = 'lib/platform/resources';
  const others = readdirSync(folder).filter((file) =>
    /z\s*\.array\((?!z\.unknown\(\)\))/.test(readFileSync(join(folder, file), 'utf8')),
  );
  expect(others).toEqual([]);
});
