// @module-tag long
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { controlsOf } from '../../local/controls.ts';
import { example } from '../../local/examples.ts';
import { packagedProject } from '../packages.ts';
import { type Deployed, deployLocally } from './deployed.ts';

let deployed: Deployed;

beforeAll(async () => {
  deployed = await deployLocally(await packagedProject(), {
    change: { timeoutMs: 15_000 },
    // Time enough to be found at work where the machine is busy.
    settings: { ATTEMPT_TIMEOUT_MS: '13000', RESERVE_MS: '500' },
    // Else another container has the message while this one is at work, and the idle one of them may be killed.
    visibilitySeconds: 16,
  });
});
afterAll(() => deployed?.close());

const send = async (name: string) => deployed.send(name, await example(name));
const until = (holds: () => boolean | Promise<boolean>) => expect.poll(holds).toBe(true);
const failed = (name: string, errorType: string) => until(() => deployed.errorsOf(name).includes(errorType));

/** A message that is being handled when its container meets this end: the platform does not answer until then. */
const endDuringCall = async (name: string, { path, signal }: { path: string; signal: NodeJS.Signals }) => {
  const controls = controlsOf(deployed.stack.description);
  await controls.fault({ delayMs: 60_000 }, { path });
  const message = await send(name);
  await until(async () => (await controls.requests()).some((request) => new RegExp(path).test(request.path)));
  deployed.lambda.kill(name, signal);
  return message;
};

describe.concurrent('a message outlives', () => {
  test('a bundle that fails to load', async () => {
    const file = join(deployed.functions['enrollment-create']!.taskRoot!, 'functions/enrollment-create.mjs');
    const code = await readFile(file);
    await writeFile(file, 'throw new RangeError("a broken bundle");');
    const message = await send('enrollment-create');
    await failed('enrollment-create', 'RangeError');
    await writeFile(file, code);
    expect(await message.ends()).toMatchObject({ outcome: 'done' });
  });

  test('a bundle that lacks a part of itself', async () => {
    const file = join(deployed.functions['org-unit-move']!.taskRoot!, 'functions/org-unit-move.mjs');
    const code = await readFile(file, 'utf8');
    await writeFile(file, `import "../chunks/missing.mjs";${code}`);
    const message = await send('org-unit-move');
    await failed('org-unit-move', 'Runtime.ImportModuleError');
    await writeFile(file, code);
    expect(await message.ends()).toMatchObject({ outcome: 'done' });
  });

  test('an error that the handler throws', async () => {
    const name = 'profile-image-update';
    const { PLATFORM_URL, ...rest } = deployed.functions[name]!.env;
    await deployed.lambda.recycle(name, rest);
    const message = await send(name);
    await failed(name, 'Error');
    await deployed.lambda.recycle(name, { PLATFORM_URL: `${PLATFORM_URL}`, ...rest });
    expect(await message.ends()).toMatchObject({ outcome: 'done' });
    expect(deployed.lines.join('\n')).toContain('PLATFORM_URL is missing');
  });

  test('a container that hangs until its time is over', async () => {
    const message = await endDuringCall('grade-push', {
      path: '/grades/5001/values/301$',
      signal: 'SIGSTOP',
    });
    await failed('grade-push', 'Sandbox.Timedout');
    expect(await message.ends()).toMatchObject({ outcome: 'done' });
  });

  test('a container that dies, and a submission is handed in once all the same', async () => {
    const message = await endDuringCall('submission-upload', { path: '/mysubmissions/$', signal: 'SIGKILL' });
    await failed('submission-upload', 'Runtime.ExitError');
    expect(await message.ends()).toMatchObject({ outcome: 'done' });
    const { submissions } = await controlsOf(deployed.stack.description).state();
    expect(submissions).toHaveLength(1);
  });
});
