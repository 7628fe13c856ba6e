// @module-tag long
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, expect, test } from 'vitest';
import { useOf } from '../../peak-memory.ts';
import { filesIn } from '../bucket.ts';
import { controlsOf } from '../controls.ts';
import { type Stack, startStack } from '../stack.ts';
import { createFollower } from './play.ts';
import { event } from './scenarios.ts';

let stack: Stack;
afterEach(() => stack.close());

const megabyte = 1_000_000;

test.skipIf(process.platform !== 'linux')(
  'a submission of 200 MB uploads with under 64 MB of memory growth',
  async () => {
    const follower = createFollower();
    stack = await startStack({
      functions: ['submission-upload'],
      containersPerFunction: 1,
      onLog: follower.onLog,
      settings: { ATTEMPT_TIMEOUT_MS: '60000', FILE_TIMEOUT_MS: '30000' },
      functionTimeoutMs: 90_000,
      visibilitySeconds: 100,
    });
    const submit = async (name: string, bytes: number) => {
      const { bucket: Bucket, queues } = stack.description;
      const Body = Buffer.alloc(bytes, `${name} `);
      await filesIn(() => stack).put(name, Body);
      const files = [{ uri: `s3://${Bucket}/${name}`, name, contentType: 'video/mp4' }];
      const data = { orgUnitId: 2001, folderId: 7001, userId: 301, files };
      const { MessageId = '' } = await stack.sqs.send(
        new SendMessageCommand({
          QueueUrl: queues['submission-upload'],
          MessageBody: event('submission-upload', data),
        }),
      );
      expect((await follower.follow(MessageId, name).end.promise).outcome).toBe('done');
      return { name, contentType: 'video/mp4', bytes, sha256: hash('sha256', Body) };
    };

    const warm = await submit('warm-up.mp4', 10 * megabyte);
    const [{ pid } = { pid: 0 }] = stack.lambda?.containers('submission-upload') ?? [];
    const before = useOf(pid);
    // From now on its peak is that of the large upload.
    await writeFile(`/proc/${pid}/clear_refs`, '5');
    const large = await submit('large.mp4', 200 * megabyte);
    const after = useOf(pid);

    const { submissions } = await controlsOf(stack.description).state();
    expect(submissions).toMatchObject([{ files: [warm] }, { files: [large] }]);
    expect((after.peakBytes - before.residentBytes) / megabyte).toBeLessThan(64);
  },
  120_000,
);
