import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { localTarget } from '../../../lib/stage/local-target.ts';

const stack = (name: string) =>
  JSON.stringify({
    platform: 'http://127.0.0.1:1',
    sqs: 'http://127.0.0.1:2',
    s3: 'http://127.0.0.1:2',
    secretsManager: 'http://127.0.0.1:3',
    region: 'us-east-1',
    bucket: name,
    queues: {},
    deadLetters: 'http://127.0.0.1:2/1/sis-relay-local-dead-letters',
    secrets: { service: 'sis-relay/local/service', userPrefix: 'sis-relay/local/users/' },
  });

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'sis-relay-folders-'));
  for (const folder of [
    '.local',
    'project/.local',
    'project/events/contract',
    'started/deep',
    'alone/.local',
  ])
    mkdirSync(join(root, folder), { recursive: true });
  for (const project of ['project', 'started']) writeFileSync(join(root, project, 'package.json'), '{}');
  for (const folder of ['.', 'project', 'alone'])
    writeFileSync(join(root, folder, '.local/stack.json'), stack(folder));
});
afterAll(() => rmSync(root, { recursive: true }));

test.each([
  ['its own', 'project', 'project'],
  ['that of its project', 'project/events/contract', 'project'],
  ['its own, where there is no project', 'alone', 'alone'],
])('a folder has %s', async (_, folder, expected) => {
  expect(await localTarget(true, join(root, folder)).bucket()).toBe(expected);
});

test.each([
  [
    'of a project of which none is up',
    'started/deep',
    /^No local stack is up in .*started\. Start `npm run local` there first, in another terminal\.$/,
  ],
  [
    'outside a project',
    '.local',
    /^.*\.local is not in a project of sis-relay\. Run this in the project’s folder, or pass --stack/,
  ],
])('a folder %s has none of a folder above', (_, folder, sentence) => {
  expect(() => localTarget(true, join(root, folder))).toThrow(sentence);
});
