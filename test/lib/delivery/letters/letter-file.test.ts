import type { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import type { DeadLetter } from '../../../../lib/delivery/letters/dead-letter.ts';
import {
  createLetterStore,
  lineOf,
  type WholeLetter,
  wholeIn,
} from '../../../../lib/delivery/letters/letter-file.ts';

const source = 'arn:aws:sqs:eu-west-1:1:sis-relay-grade-push';
const letter: WholeLetter = {
  source,
  body: '{"a":"ä\u2028"}\n',
  attributes: {
    trace: { DataType: 'String', StringValue: 't' },
    picture: { DataType: 'Binary.png', BinaryValue: Buffer.from([0, 255, 128]) },
  },
};
const line =
  String.raw`{"source":"${source}","body":"{\"a\":\"ä\u2028\"}\n",` +
  '"attributes":{"trace":{"type":"String","text":"t"},"picture":{"type":"Binary.png","base64":"AP+A"}}}\n';

test('a letter is one line, with what its readers want to know first, and is read from it as it was', () => {
  expect(lineOf({}, letter)).toBe(line);
  const writtenLine = lineOf({ kind: 'rejected' }, letter);
  expect(writtenLine).toBe(line.replace('{', '{"kind":"rejected",'));
  expect(wholeIn(writtenLine)).toEqual(letter);
});

test.each([
  ['is not JSON', 'nonsense'],
  ['is not a letter: the whole', '[]'],
  ['is not a letter: body, attributes, source', '{}'],
  ['is not a letter: body', '{"body":"","attributes":{},"source":"arn:x"}'],
  [
    'is not a letter: attributes.one.base64, attributes.two',
    '{"body":"b","attributes":{"one":{"type":"Binary","base64":"?"},"two":{"text":"t"}},"source":"arn:x"}',
  ],
])('a line that is none is told by what is wrong with it: %s', (problem, text) => {
  expect(() => wholeIn(text)).toThrow(new Error(problem));
});

test('a letter is kept under its function’s name, and the same message is the same object', async () => {
  const put: PutObjectCommand['input'][] = [];
  const send = async ({ input }: PutObjectCommand) => void put.push(input);
  const keep = createLetterStore({ s3: async () => ({ send }) as unknown as S3Client, bucket: 'files' });
  const trace = { DataType: 'String', StringValue: 't' };
  const replays = { DataType: 'Number', StringValue: '1' };
  const none: DeadLetter = { source, body: 'b', replays: 1, attributes: { trace, replays }, failure: null };
  const failed: DeadLetter = {
    ...none,
    replays: 2,
    attributes: { trace },
    failure: {
      kind: 'rejected',
      message: 'm',
      remedy: 'r',
      function: 'grade-push',
      attempts: 1,
      firstAt: '2026-06-01T12:00:00Z',
      lastAt: '2026-06-01T12:00:00Z',
    },
  };
  const addresses = [await keep(none), await keep(failed), await keep({ ...none, body: 'c' })];
  const same = 'b4a305519007270c470c16aa2d384894.jsonl';
  expect(addresses).toEqual([
    `s3://files/letters/unknown/${same}`,
    `s3://files/letters/grade-push/${same}`,
    's3://files/letters/unknown/09503d7849ce357500d228bc9e8e9faf.jsonl',
  ]);
  expect(put.slice(0, 2).map(({ Body, ...place }) => [place, JSON.parse(`${Body}`)])).toEqual([
    [
      { Bucket: 'files', Key: `letters/unknown/${same}`, ContentType: 'application/json' },
      {
        source,
        body: 'b',
        attributes: {
          trace: { type: 'String', text: 't' },
          source: { type: 'String', text: source },
          replays: { type: 'Number', text: '1' },
        },
      },
    ],
    [
      { Bucket: 'files', Key: `letters/grade-push/${same}`, ContentType: 'application/json' },
      {
        function: 'grade-push',
        kind: 'rejected',
        source,
        body: 'b',
        attributes: {
          trace: { type: 'String', text: 't' },
          source: { type: 'String', text: source },
          replays: { type: 'Number', text: '2' },
          kind: { type: 'String', text: 'rejected' },
          failure: { type: 'String', text: JSON.stringify(failed.failure) },
        },
      },
    ],
  ]);
});
