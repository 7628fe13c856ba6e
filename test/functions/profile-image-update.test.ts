import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/profile-image-update.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration);
const picture = (name: string) => readFile(join(import.meta.dirname, '../local/files', name));
const sha256 = (bytes: Uint8Array) => hash('sha256', bytes);
const images = () => relay.rows('profileImages');
const image = (uri: string, contentType = 'image/png') => ({ userId: 301, file: { uri, contentType } });
const png = (bytes: number) => {
  const file = Buffer.alloc(bytes);
  file.write('89504e470d0a1a0a', 'hex');
  return file;
};
const mebibyte = 1024 ** 2;

describe('an image is told by its bytes, whatever the message says it is', () => {
  test.each<[string, () => Promise<Buffer> | Buffer, string, string]>([
    ['a JPEG that is called a PNG', () => picture('portrait.jpg'), 'image/png', 'image/jpeg'],
    ['a GIF that is called a web page', () => Buffer.from('GIF89a\u0001\u0000'), 'text/html', 'image/gif'],
  ])('%s', async (title, bytes, claimed, contentType) => {
    const uri = await relay.putFile(`images/${title}`, await bytes());
    await relay.isDone(image(uri, claimed), ['POST 200']);
    const name = `profile-image.${contentType.slice(6)}`;
    const held = { bytes: (await bytes()).length, sha256: sha256(await bytes()) };
    expect(await images()).toEqual([{ userId: 301, name, contentType, ...held, writes: 1 }]);
  });

  test.each([
    ['a PDF', picture('essay.pdf')],
    ['an empty file', Buffer.alloc(0)],
  ])('%s is none: parked, and nothing is sent', async (title, bytes) => {
    const uri = await relay.putFile(`images/${title}`, await bytes);
    expect(parked(await relay.deliver(image(uri)))).toMatchObject({
      requests: [],
      kind: 'invalid',
      message: 'data.file: its content is not a PNG, JPEG or GIF image',
    });
    expect(await images()).toEqual([]);
  });
});

describe('the size of an image', () => {
  test('of 5 MiB is taken', async () => {
    const bytes = png(5 * mebibyte);
    const uri = await relay.putFile('images/largest.png', bytes);
    await relay.isDone(image(uri), ['POST 200']);
    expect(await images()).toMatchObject([{ bytes: 5 * mebibyte, sha256: sha256(bytes) }]);
  });

  test('of one byte more is not: parked with both sizes, and nothing is sent', async () => {
    const uri = await relay.putFile('images/too large.png', png(5 * mebibyte + 1));
    expect(parked(await relay.deliver(image(uri)))).toMatchObject({
      requests: [],
      kind: 'invalid',
      message: expect.stringMatching(/too large\.png.* has 5242881 bytes; the limit is 5242880/),
      remedy: expect.stringMatching(/Make the file smaller .* Or raise the limit/),
    });
    expect(await images()).toEqual([]);
  });
});

describe('a profile image', () => {
  test('is opened and sent anew after a clock that was off, and once more when it is right again', async () => {
    const bytes = await picture('portrait.png');
    const uri = await relay.putFile('images/clock', bytes);
    for (const skewSeconds of [-3_600, 0]) {
      await relay.controls().clock(skewSeconds);
      const { outcomes, requests } = await relay.deliver(image(uri));
      expect({ outcomes, requests }).toEqual({ outcomes: ['done'], requests: ['POST 403', 'POST 200'] });
    }
    expect(await images()).toMatchObject([{ sha256: sha256(bytes), writes: 2 }]);
  });
});
