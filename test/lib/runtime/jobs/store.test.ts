import { GetObjectCommand } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, test } from 'vitest';
import { createJobStore } from '../../../../lib/runtime/jobs/store.ts';
import { queuesAndFilesForTests } from '../../../local/aws/for-tests.ts';

const Bucket = 'sis-relay-exports';
const mebibyte = 1024 ** 2;
const { s3, createBucket } = queuesAndFilesForTests();
const store = createJobStore({ s3, bucket: Bucket });
/** What was asked of S3, by name. */
const commands: string[] = [];
/** The command that S3 refuses. */
let refused = '';

beforeAll(async () => {
  await createBucket(Bucket);
  s3.middlewareStack.add(
    (next, { commandName = '' }) =>
      (input) => {
        commands.push(commandName);
        if (commandName === refused) return Promise.reject(new Error(`refused: ${commandName}`));
        return next(input);
      },
    { step: 'initialize' },
  );
});

const stored = async (Key: string) => {
  const { Body, ContentType } = await s3.send(new GetObjectCommand({ Bucket, Key }));
  return { bytes: Buffer.from((await Body?.transformToByteArray()) ?? []), ContentType };
};
async function* pieces(sizes: number[], error?: Error): AsyncGenerator<Buffer> {
  for (const [at, size] of sizes.entries()) yield Buffer.alloc(size, at + 1);
  if (error) throw error;
}
const whole = (sizes: number[]) => Buffer.concat(sizes.map((size, at) => Buffer.alloc(size, at + 1)));
const asked = async (work: Promise<unknown>): Promise<string[]> => {
  commands.length = 0;
  await work.catch(() => {});
  return commands.slice();
};

describe('an upload', () => {
  test.each<[string, number[], string[]]>([
    ['of nothing', [], ['PutObjectCommand']],
    ['of nothing, in pieces', [0, 0], ['PutObjectCommand']],
    ['of a little', [10, 0, 20], ['PutObjectCommand']],
    ['of a byte less than a part', [5 * mebibyte - 1], ['PutObjectCommand']],
    ['of exactly a part', [5 * mebibyte], ['PutObjectCommand']],
    [
      'of more',
      [3 * mebibyte, 3 * mebibyte, 7 * mebibyte, 1],
      [
        'CreateMultipartUploadCommand',
        'UploadPartCommand',
        'UploadPartCommand',
        'UploadPartCommand',
        'CompleteMultipartUploadCommand',
      ],
    ],
  ])('%s is stored as one object', async (title, sizes, expected) => {
    const key = `uploads/${title}`;
    let storedSize: { bytes: number } | undefined;
    const work = store.upload(key, 'application/x-ndjson', pieces(sizes)).then((answer) => {
      storedSize = answer;
    });
    expect(await asked(work)).toEqual(expected);
    const { bytes, ContentType } = await stored(key);
    expect(storedSize).toEqual({ bytes: bytes.length });
    expect(ContentType).toBe('application/x-ndjson');
    expect(bytes.equals(whole(sizes))).toBe(true);
  });

  test.each([
    ['a little', [10], []],
    [
      'a part',
      [6 * mebibyte],
      ['CreateMultipartUploadCommand', 'UploadPartCommand', 'AbortMultipartUploadCommand'],
    ],
  ])('that breaks off after %s leaves no object behind, and says why', async (title, sizes, expected) => {
    const key = `broken/${title}`;
    const work = store.upload(key, 'text/plain', pieces(sizes, new Error('cut off')));
    expect(await asked(work)).toEqual(expected);
    await expect(work).rejects.toThrow('cut off');
    await expect(stored(key)).rejects.toThrow(/does not exist/);
  });

  test.each(['UploadPartCommand', 'CompleteMultipartUploadCommand'])(
    'whose %s fails is aborted, so that no part of it is left',
    async (command) => {
      refused = command;
      const work = store.upload(`refused/${command}`, 'text/plain', pieces([6 * mebibyte]));
      expect((await asked(work)).at(-1)).toBe('AbortMultipartUploadCommand');
      await expect(work).rejects.toThrow(`refused: ${command}`);
      refused = '';
    },
  );
});

describe('JSON', () => {
  test('is read as it was written', async () => {
    await store.writeJson('a/1.json', { name: 'Prüfung 🎓', ids: [1, 2] });
    expect(await store.readJson('a/1.json')).toEqual({ name: 'Prüfung 🎓', ids: [1, 2] });
  });

  test('that is not there, or is none, is an error', async () => {
    await expect(store.readJson('a/none.json')).rejects.toThrow(/does not exist/);
    await store.upload('a/half.json', 'application/json', pieces([10]));
    await expect(store.readJson('a/half.json')).rejects.toThrow(SyntaxError);
  });
});

test('lines are read as they were written', async () => {
  await store.uploadLines('a/lines.gz', ['Prüfung 🎓\n', '{}\n']);
  expect(await store.readLines('a/lines.gz')).toEqual(['Prüfung 🎓', '{}']);
});

describe('keys', () => {
  test('are listed to the last, however many pages there are', async () => {
    const keys = Array.from({ length: 5 }, (_, at) => `many/${at}.json`);
    await Promise.all(keys.map((key) => store.writeJson(key, {})));
    await store.writeJson('many.json', {});
    // In place of the thousand that S3 lists at once.
    s3.middlewareStack.add((next) => (args) => next({ ...args, input: { ...args.input, MaxKeys: 2 } }), {
      name: 'pageOfTwo',
      step: 'initialize',
    });
    commands.length = 0;
    expect(await store.keysUnder('many/')).toEqual(keys);
    expect(commands).toEqual(Array(3).fill('ListObjectsV2Command'));
    s3.middlewareStack.remove('pageOfTwo');
    expect(await store.keysUnder('none/')).toEqual([]);
  });
});
