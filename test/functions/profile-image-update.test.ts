import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/profile-image-update.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration);
const picture = (name: string) => readFile(join(import.meta.dirname, '../local/files', name));
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
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
    ['a PNG', () => picture('portrait.png'), 'image/png', 'image/png'],
    ['a JPEG', () => picture('portrait.jpg'), 'image/jpeg', 'image/jpeg'],
    ['a GIF of 1987', () => Buffer.from('GIF87a\u0001\u0000'), 'image/gif', 'image/gif'],
    ['a GIF of 1989', () => Buffer.from('GIF89a\u0001\u0000'), 'image/gif', 'image/gif'],
    ['a JPEG that is called a PNG', () => picture('portrait.jpg'), 'image/png', 'image/jpeg'],
    ['a PNG that is called a PDF', () => picture('portrait.png'), 'application/pdf', 'image/png'],
    ['a GIF that is called a web page', () => Buffer.from('GIF89a\u0001\u0000'), 'text/html', 'image/gif'],
  ])('%s', async (title, bytes, claimed, contentType) => {
    const uri = await relay.putFile(`images/${title}`, await bytes());
    expect(await relay.deliver(image(uri, claimed))).toMatchObject({
      outcomes: ['done'],
      requests: ['POST 200'],
      letters: [],
    });
    const name = `profile-image.${contentType.slice(6)}`;
    const held = { bytes: (await bytes()).length, sha256: sha256(await bytes()) };
    expect(await images()).toEqual([{ userId: 301, name, contentType, ...held, writes: 1 }]);
  });

  test.each([
    ['a PDF', picture('essay.pdf')],
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')],
    ['a WebP', Buffer.from('RIFF\u0000\u0000\u0000\u0000WEBPVP8 ')],
    ['the first bytes of a PNG', Buffer.from('89504e470d0a1a', 'hex')],
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
    expect(await relay.deliver(image(uri))).toMatchObject({ outcomes: ['done'], requests: ['POST 200'] });
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
  test('takes the place of the one before it', async () => {
    await relay.deliver(image(await relay.putFile('images/first', await picture('portrait.png'))));
    await relay.deliver(image(await relay.putFile('images/second', await picture('portrait.jpg'))));
    expect(await images()).toMatchObject([{ userId: 301, contentType: 'image/jpeg', writes: 2 }]);
  });

  test('is opened and sent anew after an answer that proves nothing', async () => {
    const bytes = await picture('portrait.png');
    const uri = await relay.putFile('images/again', bytes);
    await relay.controls().fault({ truncate: true });
    expect(await relay.deliver(image(uri))).toMatchObject({
      outcomes: ['waiting', 'done'],
      requests: ['POST 200', 'POST 200'],
      letters: [],
    });
    expect(await images()).toMatchObject([{ sha256: sha256(bytes), writes: 2 }]);
  });

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

  test('waits while S3 cannot be read, and nothing is sent meanwhile', async () => {
    const uri = await relay.putFile('images/later', await picture('portrait.png'));
    const name = uri.replace('s3://', '');
    await relay.controls().awsFault('s3', { action: 'HeadObject', name, times: 3, status: 503 });
    expect(await relay.deliver(image(uri))).toMatchObject({
      outcomes: ['waiting', 'done'],
      requests: ['POST 200'],
      letters: [],
    });
  });
});

describe('what names no file that can be had is parked, and nothing is sent', () => {
  const remedy = /Name the file as s3:\/\/bucket\/key, or as https:\/\/ on a host listed in FILE_HOSTS/;
  test.each([
    [
      'a key that is not there',
      's3://sis-relay-uploads/none.png',
      /does not exist, or may not be read/,
      /Put the file there/,
    ],
    [
      'a bucket that is not there',
      's3://sis-relay-none/a.png',
      /does not exist, or may not be read/,
      /Put the file there/,
    ],
    [
      'a host that is not listed',
      'https://files.example.org/a.png',
      /is not on the list of file hosts/,
      remedy,
    ],
    [
      'plain http',
      'http://files.example.org/a.png',
      /scheme is http:/,
      /Have the producer correct the message/,
    ],
    [
      'a file of the machine',
      'file:///etc/passwd',
      /scheme is file:/,
      /Have the producer correct the message/,
    ],
    [
      'a data URL',
      'data:image/png;base64,iVBORw0KGgo=',
      /scheme is data:/,
      /Have the producer correct the message/,
    ],
    [
      'a password',
      'https://user:word@files.example.org/a.png',
      /user name or a password/,
      /Have the producer correct the message/,
    ],
    [
      'a bucket alone',
      's3://sis-relay-uploads',
      /no valid S3 bucket/,
      /Have the producer correct the message/,
    ],
    [
      'a climb into another bucket',
      's3://sis-relay-uploads/../other/a.png',
      /only of periods/,
      /Have the producer correct the message/,
    ],
    [
      'a path',
      '/images/a.png',
      /neither s3:\/\/bucket\/key nor a URL/,
      /Have the producer correct the message/,
    ],
  ])('%s', async (_, uri, says, todo) => {
    expect(parked(await relay.deliver(image(uri)))).toMatchObject({
      requests: [],
      kind: 'invalid',
      message: expect.stringMatching(says),
      remedy: expect.stringMatching(todo),
    });
  });

  test.each([
    ['no uri', { contentType: 'image/png' }, /data\.file\.uri: is missing/],
    ['no content type', { uri: 's3://sis-relay-uploads/a.png' }, /data\.file\.contentType: is missing/],
    [
      'a content type with a line break',
      { uri: 's3://sis-relay-uploads/a.png', contentType: 'image/png\r\nX-Evil: yes' },
      /data\.file\.contentType: must be a content type/,
    ],
    [
      'an unknown field',
      { uri: 's3://sis-relay-uploads/a.png', contentType: 'image/png', name: 'a.png' },
      /data\.file\.name: is not a known field/,
    ],
  ])('%s', (_, file, says) => {
    expect(relay.problemOf({ userId: 301, file })).toMatch(says);
  });
});

test('an unknown user is refused by the platform, and parked after one request', async () => {
  const uri = await relay.putFile('images/nobody', await picture('portrait.png'));
  expect(parked(await relay.deliver({ ...image(uri), userId: 999 }))).toMatchObject({
    requests: ['POST 404'],
    ...{ kind: 'rejected', status: 404, detail: 'User not found' },
    operation: 'POST /svc/api/lp/1.49/profile/user/999/image',
  });
});
