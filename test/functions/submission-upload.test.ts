import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { integration } from '../../functions/submission-upload.ts';
import { messageFor } from '../../lib/desk/messages/replay/send-and-delete.ts';
import { selfSigned } from '../lib/runtime/files/self-signed.ts';
import { functionForTests, parked } from '../local/inline.ts';
import { keyOf } from '../local/stack.ts';

const essay = Buffer.from('%PDF-1.7\nAn essay on photosynthesis\n');
let files: Server;
let filesUrl: string;

beforeAll(async () => {
  const certificate = selfSigned('localhost');
  setDefaultCACertificates([...getCACertificates('default'), certificate.cert]);
  files = createServer(certificate, (request, response) => {
    if (request.url === '/moved.pdf') response.writeHead(302, { location: '/essay.pdf' }).end();
    else if (request.url === '/unsized.pdf') response.writeHead(200).write(essay, () => response.end());
    else if (request.url?.startsWith('/essay.pdf'))
      response.writeHead(200, { 'content-length': essay.length }).end(essay);
    else response.writeHead(404).end('no such file');
  });
  files.listen(0, '127.0.0.1');
  await once(files, 'listening');
  filesUrl = `https://localhost:${(files.address() as AddressInfo).port}`;
});
afterAll(() => {
  files.closeAllConnections();
  files.close();
});

const relay = functionForTests(integration, () => ({
  FILE_HOSTS: new URL(filesUrl).host,
  FILE_LOOPBACK: 'true',
}));

const ids = { orgUnitId: 2001, folderId: 7001, userId: 301 };
const file = (uri: string, name = 'essay.pdf', contentType = 'application/pdf') => ({
  uri,
  name,
  contentType,
});
const sha256 = (bytes: Uint8Array | string) => hash('sha256', bytes);
const submissions = () => relay.rows('submissions');
const uploaded = () => relay.putFile('essays/essay.pdf', essay);

/** A learner of the course with a secret; a new one where a test spoils the credential. */
const learner = async (userId: number, credential: object | null = keyOf(userId)) => {
  await relay.controls().seed({
    users: [{ userId }],
    enrollments: [{ orgUnitId: 2001, userId, roleId: 110 }],
  });
  if (credential) await relay.controls().secret(`sis-relay/local/users/${userId}`, credential);
  return { ...ids, userId };
};

describe('a submission', () => {
  test('is handed in by its own learner, with one upload', async () => {
    const data = { ...ids, files: [file(await uploaded())], comment: 'My lab report “final” 🎓\n' };
    await relay.isDone(data, ['GET 200', 'POST 200', 'GET 200']);
    expect(await submissions()).toEqual([
      {
        ...ids,
        submissionId: expect.any(Number),
        submittedAt: expect.any(String),
        comment: 'My lab report “final” 🎓\n',
        files: [
          { name: 'essay.pdf', contentType: 'application/pdf', bytes: essay.length, sha256: sha256(essay) },
        ],
      },
    ]);
    expect(await relay.requests()).toMatchObject([
      { method: 'GET', path: '/svc/api/lp/1.49/users/whoami', userId: 301 },
      { method: 'POST', path: expect.stringMatching(/7001\/submissions\/mysubmissions\/$/), userId: 301 },
      { method: 'GET', path: expect.stringMatching(/7001\/submissions\/mysubmissions\/$/), userId: 301 },
    ]);
  });

  test('without a comment has an empty one', async () => {
    await relay.deliver({ ...ids, files: [file(await uploaded())] });
    expect(await submissions()).toMatchObject([{ comment: '' }]);
  });

  test('of several files keeps their order, types and bytes, an empty file included', async () => {
    const contents = ['first', '', '\r\n--boundary--\r\n', '\0\u0001\ufeff'];
    const several = await Promise.all(
      contents.map(async (text, at) =>
        file(await relay.putFile(`several/${at}`, text), `${at}.txt`, `text/x-${at}`),
      ),
    );
    await relay.deliver({ ...ids, files: several });
    const held = contents.map((text, at) => {
      const bytes = Buffer.from(text);
      return { name: `${at}.txt`, contentType: `text/x-${at}`, bytes: bytes.length, sha256: sha256(bytes) };
    });
    expect(await submissions()).toMatchObject([{ files: held }]);
  });

  // The platform reads names as browsers write them: %22, %0D and %0A are escapes, so of those three the text is lost.
  test.each([
    ['the end of the header', 'a"; filename="b.pdf', 'a"; filename="b.pdf'],
    ['a backslash', 'C:\\essays\\a.pdf', 'C:%5Cessays%5Ca.pdf'],
    ['control characters', 'a\u0000b\u001bc\u0085.pdf', 'a%00b%1Bc%C2%85.pdf'],
  ])('can have a file whose name holds %s, and no name breaks out of its header', async (_, name, held) => {
    const other = file(await uploaded(), 'other.pdf');
    const delivery = await relay.deliver({ ...ids, files: [file(await uploaded(), name), other] });
    expect(delivery).toMatchObject({ outcomes: ['done'], requests: ['GET 200', 'POST 200', 'GET 200'] });
    const [{ files: stored } = {}] = await submissions();
    expect(stored).toMatchObject([{ name: held, sha256: sha256(essay) }, { name: 'other.pdf' }]);
  });

  test('can have files of an https server on the list, beside those of S3', async () => {
    const both = [file(`${filesUrl}/essay.pdf?signature=secret`), file(await uploaded(), 'copy.pdf')];
    await relay.isDone({ ...ids, files: both });
    expect(await submissions()).toMatchObject([
      {
        files: [
          { name: 'essay.pdf', sha256: sha256(essay) },
          { name: 'copy.pdf', sha256: sha256(essay) },
        ],
      },
    ]);
  });
});

describe('a submission is never handed in under another name', () => {
  test('a learner without a credential: parked, naming the secret to create; once it is there, a replay hands it in', async () => {
    const data = { ...(await learner(311, null)), files: [file(await uploaded())] };
    const delivery = await relay.deliver(data);
    expect(parked(delivery)).toMatchObject({
      requests: [],
      kind: 'missing-credential',
      message: 'There is no secret sis-relay/local/users/311, so nothing can be sent as user 311',
      remedy: "Create the secret sis-relay/local/users/311 with that user's credential, then replay.",
    });
    expect(await submissions()).toEqual([]);
    await relay.controls().secret('sis-relay/local/users/311', keyOf(311));
    expect(await relay.replay(delivery)).toMatchObject({ outcomes: ['done'], letters: [] });
    expect(await submissions()).toMatchObject([{ userId: 311 }]);
  });

  test('a secret that holds somebody else’s key: parked, and nothing is uploaded', async () => {
    const data = { ...(await learner(312, keyOf(301))), files: [file(await uploaded())] };
    expect(parked(await relay.deliver(data))).toMatchObject({
      requests: ['GET 200'],
      kind: 'missing-credential',
      message: 'The secret for user 312 holds the credential of user 301. Nothing was sent',
      remedy: expect.stringContaining('Put the credential of user 312 into this secret'),
    });
    expect(await submissions()).toEqual([]);
  });

  test('a platform that says no id: what it says instead is not told', async () => {
    const data = { ...(await learner(319)), files: [file(await uploaded())] };
    const body = { Identifier: 'jane.doe@example.edu' };
    await relay.controls().fault({ status: 200, body }, { path: 'whoami' });
    expect(parked(await relay.deliver(data))).toMatchObject({
      kind: 'missing-credential',
      message: 'The secret for user 319 holds the credential of another user. Nothing was sent',
    });
  });

  test('a key that the platform refuses: it waits, unsent, until the secret is corrected', async () => {
    const data = { ...(await learner(313, keyOf(313, 'revoked'))), files: [file(await uploaded())] };
    const correct = () => relay.controls().secret('sis-relay/local/users/313', keyOf(313));
    const { outcomes, requests, letters } = await relay.deliver(data, correct);
    expect(outcomes.at(-1)).toBe('done');
    expect(outcomes.slice(0, -1)).toEqual(outcomes.slice(0, -1).fill('waiting'));
    // Its secret is looked at again every few seconds; the refused key itself is not used again.
    expect({ requests, letters }).toEqual({
      requests: ['GET 403', 'GET 200', 'POST 200', 'GET 200'],
      letters: [],
    });
    expect(await submissions()).toMatchObject([{ userId: 313 }]);
  });

  test('a key that the platform refuses for uploads alone: it waits until the secret is corrected', async () => {
    await relay.controls().settings({ invalidTokenReads: 'answer' });
    const data = { ...(await learner(315, keyOf(315, 'revoked'))), files: [file(await uploaded())] };
    const correct = () => relay.controls().secret('sis-relay/local/users/315', keyOf(315));
    const { outcomes, requests, letters } = await relay.deliver(data, correct);
    expect(new Set(outcomes)).toEqual(new Set(['waiting', 'done']));
    expect(requests.filter((each) => each.startsWith('POST'))).toEqual(['POST 403', 'POST 200']);
    expect(letters).toEqual([]);
    expect(await submissions()).toMatchObject([{ userId: 315 }]);
  });

  test('a secret that is no credential: it waits, unsent, until the secret is corrected', async () => {
    const wrong = { user: 'lena', password: 'secret' };
    const data = { ...(await learner(314, wrong)), files: [file(await uploaded())] };
    const correct = () => relay.controls().secret('sis-relay/local/users/314', keyOf(314));
    const { outcomes, requests, letters } = await relay.deliver(data, correct);
    expect(outcomes).toEqual(['waiting', 'done']);
    expect({ requests, letters }).toEqual({ requests: ['GET 200', 'POST 200', 'GET 200'], letters: [] });
  });
});

describe('a submission without an answer is looked up before anything is sent again', () => {
  test('the connection is cut before the effect: it is sent', async () => {
    await relay.controls().fault({ reset: 'before' }, { method: 'POST', path: 'mysubmissions' });
    const { outcomes, requests, letters } = await relay.deliver({ ...ids, files: [file(await uploaded())] });
    expect({ outcomes, letters }).toEqual({ outcomes: ['waiting', 'done'], letters: [] });
    // Cut so early that part of the upload was not handed over yet, it certainly had no effect, and needs no look.
    expect(requests.filter((request) => request.startsWith('POST'))).toEqual(['POST null', 'POST 200']);
    expect(await submissions()).toMatchObject([{ userId: 301, files: [{ sha256: sha256(essay) }] }]);
  });

  test('where the lookup cannot tell, a person decides: the letter says what to look for', async () => {
    await relay.controls().fault({ reset: 'after' }, { method: 'POST', path: 'mysubmissions' });
    // The platform shows this name otherwise than it was given.
    const data = { ...ids, files: [file(await uploaded(), 'C:\\essay.pdf')] };
    expect(parked(await relay.deliver(data))).toMatchObject({
      requests: ['GET 200', 'POST null', 'GET 200', 'GET 200'],
      kind: 'uncertain',
      remedy: expect.stringMatching(
        /^On the platform, look for a submission of user 301 in dropbox folder 7001 of org unit 2001 since .* If there is none, replay this letter/,
      ),
    });
    expect(await submissions()).toHaveLength(1);
  });
});

describe('a submission whose upload was answered with a success is looked for, as that is no proof', () => {
  const atSubmissions = (method: string) => ({ method, path: 'mysubmissions' });
  /** What the list has, so many hours from now. */
  const dated = (hours: number) => [
    {
      SubmissionDate: new Date(Date.now() + hours * 3_600_000).toISOString(),
      Files: [{ FileName: 'essay.pdf', Size: essay.length }],
    },
  ];

  test('what is not there, nor later, is no success: a person decides, and a replay hands it in', async () => {
    await relay.controls().fault({ status: 200 }, atSubmissions('POST'));
    const delivery = await relay.deliver({ ...ids, files: [file(await uploaded())] });
    expect(parked(delivery)).toMatchObject({
      requests: ['GET 200', 'POST 200', 'GET 200', 'GET 200', 'GET 200'],
      kind: 'uncertain',
      message: expect.stringContaining('answered with a success, but does not show the files'),
      remedy: expect.stringContaining('If there is none, replay this letter'),
    });
    expect(await submissions()).toEqual([]);
    const [letter] = delivery.letters;
    const { body, attributes } = messageFor(letter!);
    relay.passTime(61_000);
    const replayed = await relay.deliverBody(body, attributes);
    expect(replayed.outcomes.at(-1)).toBe('done');
    expect(await submissions()).toHaveLength(1);
  });

  test('what is shown a while later is a success', async () => {
    await relay.controls().fault({ status: 200, body: [] }, atSubmissions('GET'));
    const { outcomes, requests, letters } = await relay.deliver({ ...ids, files: [file(await uploaded())] });
    expect({ outcomes, letters }).toEqual({ outcomes: ['waiting', 'done'], letters: [] });
    expect(requests).toEqual(['GET 200', 'POST 200', 'GET 200', 'GET 200', 'GET 200']);
  });

  test('what was taken is not sent again by itself: not where the list fails first, nor for a second copy', async () => {
    await relay.controls().fault({ status: 503 }, atSubmissions('GET'));
    await relay.controls().fault({ status: 200, body: [] }, { ...atSubmissions('GET'), times: 2 });
    const body = relay.event({ ...ids, files: [file(await uploaded())] });
    expect(parked(await relay.deliverBody(body)).kind).toBe('uncertain');
    // Nobody knows what became of it: each further copy is looked up, until it shows.
    const [again, third] = [await relay.deliverBody(body), await relay.deliverBody(body)];
    expect([again.outcomes.at(-1), third.outcomes.at(-1)]).toEqual(['parked', 'done']);
    expect(await relay.deliverBody(body)).toMatchObject({ outcomes: ['duplicate'], letters: [] });
    expect(await submissions()).toHaveLength(1);
  });

  test('what was taken is there by whichever clock, where the list fails first', async () => {
    await relay.controls().fault({ status: 503 }, atSubmissions('GET'));
    await relay.controls().fault({ status: 200, body: dated(-6) }, atSubmissions('GET'));
    const { outcomes } = await relay.deliver({ ...ids, files: [file(await uploaded())] });
    expect(outcomes).toEqual(['waiting', 'done']);
    expect(await submissions()).toHaveLength(1);
  });

  test('what is there under another name is a success', async () => {
    const data = { ...ids, files: [file(await uploaded(), 'C:\\essay.pdf')] };
    await relay.isDone(data);
    expect(await submissions()).toHaveLength(1);
  });

  test('what is there is a success by whichever clock the platform keeps', async () => {
    await relay.controls().fault({ status: 200, body: dated(-6) }, atSubmissions('GET'));
    const data = { ...ids, files: [file(await uploaded())] };
    await relay.isDone(data);
  });

  test('what was handed in days before is not it, though it has the same files', async () => {
    await relay.controls().fault({ status: 200, body: dated(-48) }, { ...atSubmissions('GET'), times: 9 });
    const { outcomes, letters } = await relay.deliver({ ...ids, files: [file(await uploaded())] });
    expect([outcomes, letters.map(({ failure }) => failure?.kind)]).toEqual([
      ['waiting', 'parked'],
      ['uncertain'],
    ]);
  });
});

test('a second file that is not there: parked, and nothing is uploaded', async () => {
  const files = [file(await uploaded()), file('s3://sis-relay-uploads/none.pdf', 'second.pdf')];
  expect(parked(await relay.deliver({ ...ids, files }))).toMatchObject({
    requests: ['GET 200'],
    kind: 'invalid',
    remedy: expect.stringContaining('Put the file there'),
    message: expect.stringMatching(/none\.pdf.* does not exist, or may not be read/),
  });
  expect(await submissions()).toEqual([]);
});
