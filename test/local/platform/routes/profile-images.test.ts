import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { platformForTests } from '../fixture.ts';

const platform = platformForTests();
const path = '/svc/api/lp/1.52/profile/user/301/image';
const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]);

function form(fields: Record<string, [string, string]>) {
  const body = new FormData();
  for (const [name, [filename, type]] of Object.entries(fields))
    body.append(name, new Blob([bytes], { type }), filename);
  return body;
}

test('an image is replaced and read back', async () => {
  const body = form({ profileImage: ['me "1".png', 'image/png'] });
  expect((await platform.as(100)('POST', path, { body })).status).toBe(200);
  expect((await platform.as(301)('POST', path, { body })).status).toBe(200);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(await platform.state('profileImages')).toEqual([
    { userId: 301, name: 'me "1".png', contentType: 'image/png', bytes: 8, sha256, writes: 2 },
  ]);
  const read = await platform.as(301)('GET', path);
  expect(read.headers.get('content-type')).toBe('image/png');
  expect(Buffer.from(await read.arrayBuffer())).toEqual(bytes);
});

test.each([
  ['another field', form({ image: ['me.png', 'image/png'] })],
  ['two parts', form({ profileImage: ['me.png', 'image/png'], more: ['me.png', 'image/png'] })],
  ['no image', form({ profileImage: ['me.pdf', 'application/pdf'] })],
  ['no multipart', 'bytes'],
])('400 for %s', async (_, body) => {
  expect((await platform.as(100)('POST', path, { body })).status).toBe(400);
  expect(await platform.state('profileImages')).toEqual([]);
});

test('others’ images are for those who may', async () => {
  const body = form({ profileImage: ['me.png', 'image/png'] });
  expect((await platform.as(302)('POST', path, { body })).status).toBe(403);
  expect((await platform.as(302)('GET', path)).status).toBe(403);
});

test('404 for an unknown user, and where there is no image', async () => {
  const body = form({ profileImage: ['me.png', 'image/png'] });
  expect((await platform.as(100)('POST', path.replace('301', '999'), { body })).status).toBe(404);
  expect((await platform.as(100)('GET', path)).status).toBe(404);
});
