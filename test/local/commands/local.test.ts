import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, globSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify, stripVTControlCharacters } from 'node:util';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { letterOf } from '../../../lib/delivery/letters/dead-letter.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { controlsOf } from '../controls.ts';
import { event } from '../scenarios/scenarios.ts';
import { durableOptionsOf, type StackDescription } from '../stack.ts';
import { program, report } from './play-program.ts';
import { createScreen } from './screen.ts';

const root = resolve(import.meta.dirname, '../../..');
const { scripts }: { scripts: Record<string, string> } = JSON.parse(
  await readFile(join(root, 'package.json'), 'utf8'),
);
let project: string;

// A checkout of its own: a developer's stack may be up in this one.
beforeAll(async () => {
  project = temporaryFolder();
  for (const name of [
    'package.json',
    'serverless.yml',
    'bindings.config.ts',
    'esbuild.config.ts',
    'notices.config.ts',
    'lib',
    'functions',
    'events',
    'test',
  ])
    cpSync(join(root, name), join(project, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'), 'junction');
});

/** Each has processes of its own to start, and what it proves, others prove in part. */
const isLong = { tags: ['long'] };

/** A stack's processes that are asked at once again and again need as much CPU as all that they do. */
const patiently = { interval: 300 };

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) signalAll(child, 'SIGKILL');
});

/** To a program and all that it started, as a terminal does; false: there is nothing left of them. */
function signalAll({ pid = 0 }: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

/** A program of the project, with what it says so far. */
function run(command: string, ...parameters: string[]) {
  const child = spawn(command, parameters, {
    cwd: project,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  started.push(child);
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (said.err += text));
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const up = async () => {
    await Promise.race([expect.poll(() => said.out).toMatch(/\n/), ended]);
    return JSON.parse(said.out) as StackDescription;
  };
  return { child, said, ended, up };
}

const local = (...options: string[]) =>
  run(process.execPath, 'test/run.js', 'test/local/commands/local.ts', ...options);
const stackFile = () => join(project, '.local/stack.json');

/** What /proc tells of the living processes, where there is one. */
async function livingProcesses(): Promise<{ pid: number; parent: number }[]> {
  const all = await Promise.all(
    globSync('/proc/[0-9]*/stat').map(async (file) => {
      const stat = await readFile(file, 'utf8').catch(() => '');
      const [, pid, state, parent] = /^(\d+) \(.*\) (\S) (\d+)/s.exec(stat) ?? [];
      return state === 'Z' ? [] : [{ pid: Number(pid), parent: Number(parent) }];
    }),
  );
  return all.flat();
}

async function processesBelow(pid: number | undefined): Promise<number[]> {
  const children = (await livingProcesses()).filter(({ parent }) => parent === pid);
  return (
    await Promise.all(children.map(async (child) => [child.pid, ...(await processesBelow(child.pid))]))
  ).flat();
}

async function livingOf(pids: number[]): Promise<number[]> {
  const living = await livingProcesses();
  return pids.filter((each) => living.some(({ pid }) => pid === each));
}

const clientOptions = (endpoint: string, { region }: StackDescription) => ({
  endpoint,
  region,
  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
});

const grade = (userId: number, points: number | null) =>
  event('grade-push', {
    orgUnitId: 2001,
    gradeObjectId: 5001,
    userId,
    comments: '',
    privateComments: '',
    grade: { type: 'numeric', points },
  });

describe('npm run local', () => {
  test('tells where everything is, in one line and in .local/stack.json, does what comes, and leaves nothing behind after Ctrl-C', async () => {
    const stack = local();
    const description = await stack.up();
    expect(stack.said.out).toBe(`${JSON.stringify(description)}\n`);
    expect(await readFile(stackFile(), 'utf8')).toBe(stack.said.out);
    const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/);
    const queue = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/\d+\/[\w-]+$/);
    expect(description).toMatchObject({
      platform: url,
      sqs: url,
      s3: url,
      secretsManager: url,
      region: expect.any(String),
      queues: {
        'grade-push': queue,
        'enrollment-create': queue,
        'submission-upload': queue,
        'profile-image-update': queue,
      },
      deadLetters: queue,
      bucket: expect.any(String),
      secrets: { service: expect.any(String), userPrefix: expect.any(String) },
      functionLog: expect.stringMatching(/functions\.log$/),
    });
    const sqs = new SQSClient(clientOptions(description.sqs, description));
    const QueueUrl = description.queues['grade-push'];
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: grade(301, 0) }));
    await expect
      .poll(async () => (await controlsOf(description).state()).gradeValues, patiently)
      .toMatchObject([{ userId: 301, pointsNumerator: 0 }]);
    // In the same process: beside the first message, it would need one of its own.
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: grade(301, null) }));
    const toLetters = {
      QueueUrl: description.deadLetters,
      MessageAttributeNames: ['All'],
      WaitTimeSeconds: 20,
    };
    await expect
      .poll(async () => (await sqs.send(new ReceiveMessageCommand(toLetters))).Messages?.map(letterOf))
      .toMatchObject([{ failure: { kind: 'invalid' } }]);
    sqs.destroy();
    // What the functions log is beside the one line, not below it; and in a file, for `sis-relay trace --log`.
    expect(stack.said.out.split('\n')).toHaveLength(2);
    await expect.poll(() => stack.said.err).toMatch(/^grade-push \{.*"outcome":"done"/m);
    expect(await readFile(join(project, '.local/functions.log'), 'utf8')).toMatch(/^grade-push \{/m);
    const processes = await processesBelow(stack.child.pid);
    if (process.platform === 'linux') expect(processes.length).toBeGreaterThan(0);
    // A terminal and npm make two signals of one Ctrl-C.
    for (const _ of [1, 2]) signalAll(stack.child, 'SIGINT');
    expect(await stack.ended).toEqual([0, null]);
    await expect.poll(() => livingOf(processes), patiently).toEqual([]);
    await expect(fetch(description.platform)).rejects.toThrow('fetch failed');
    expect(existsSync(stackFile())).toBe(false);
  });

  // util-linux has a terminal for programs; others do not have it, or with other options.
  test.runIf(process.platform === 'linux' && existsSync('/usr/bin/script'))(
    'is a screen on a terminal: addresses, what to type, what becomes of messages, and Ctrl-C ends it',
    isLong,
    async () => {
      const line = `stty cols 100; exec ${process.execPath} test/run.js test/local/commands/local.ts`;
      const terminal = spawn('script', ['-qec', line, '/dev/null'], { cwd: project, detached: true });
      started.push(terminal);
      let shown = '';
      terminal.stdout.setEncoding('utf8').on('data', (text) => {
        shown += stripVTControlCharacters(text).replaceAll('\r', '');
      });
      const ended = once(terminal, 'close');
      await expect.poll(() => shown).toContain('Ctrl-C stops it');
      const description: StackDescription = JSON.parse(await readFile(stackFile(), 'utf8'));
      expect(shown).toMatch(new RegExp(`^ {2}platform +${description.platform}$`, 'm'));
      expect(shown).toMatch(/^ {2}npx sis-relay status --local +\w/m);
      const sqs = new SQSClient(clientOptions(description.sqs, description));
      const QueueUrl = description.queues['grade-push'];
      for (const points of [7, null])
        await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: grade(301, points) }));
      sqs.destroy();
      await expect.poll(() => shown).toMatch(/^\d\d:\d\d:\d\d {2}done .*\n +grade-push · PUT /m);
      await expect.poll(() => shown).toMatch(/^\d\d:\d\d:\d\d {2}parked .*\n +grade-push · invalid$/m);
      await expect.poll(() => shown).toContain('npx sis-relay letters groups --local');
      expect(shown).not.toMatch(/^\S* ?\{/m);
      terminal.stdin.write('\u0003');
      expect(await ended).toEqual([0, null]);
      expect(shown).toMatch(/Stopping: what is being handled comes to its end\.\n$/);
      expect(existsSync(stackFile())).toBe(false);
    },
  );

  test('ends with npm, where a signal reaches npm alone', isLong, async () => {
    const stack = run('npm', 'run', '--silent', 'local', '--', '--no-functions');
    await stack.up();
    stack.child.kill('SIGTERM');
    await expect.poll(() => signalAll(stack.child, 0)).toBe(false);
    expect(existsSync(stackFile())).toBe(false);
  });

  test('invokes its functions for plain clients of AWS', isLong, async () => {
    const stack = local();
    const description = await stack.up();
    const lambda = new LambdaClient(clientOptions(description.lambda, description));
    const invoked = (FunctionName: string, payload: object, InvocationType: 'Event' | 'RequestResponse') =>
      lambda.send(
        new InvokeCommand({ FunctionName, InvocationType, Payload: Buffer.from(JSON.stringify(payload)) }),
      );
    const exported = await invoked('course-export:durable', { orgUnitIds: [2001] }, 'RequestResponse');
    expect(JSON.parse(`${exported.Payload?.transformToString()}`)).toMatchObject({ outcome: 'complete' });
    const refused = await invoked('course-export', { orgUnitIds: [] }, 'RequestResponse');
    expect([refused.FunctionError, refused.Payload?.transformToString()]).toEqual([
      'Unhandled',
      expect.stringContaining('must name at least one org unit'),
    ]);
    expect(await invoked('connection-check', {}, 'Event')).toMatchObject({ StatusCode: 202 });
    lambda.destroy();
  });

  test(
    'with --no-functions polls nothing, and takes the place of a stack that was killed',
    isLong,
    async () => {
      const killed = local('--no-functions');
      await killed.up();
      killed.child.kill('SIGKILL');
      await killed.ended;
      expect(existsSync(stackFile())).toBe(true);

      const stack = local('--no-functions');
      const description = await stack.up();
      expect(await readFile(stackFile(), 'utf8')).toBe(stack.said.out);
      const sqs = new SQSClient(clientOptions(description.sqs, description));
      const QueueUrl = description.queues['grade-push'];
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: grade(301, 7) }));
      await sleep(1_500);
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl, MessageSystemAttributeNames: ['ApproximateReceiveCount'] }),
      );
      expect(Messages).toMatchObject([{ Attributes: { ApproximateReceiveCount: '1' } }]);
      expect(await controlsOf(description).requests()).toEqual([]);
      sqs.destroy();
    },
  );

  test('of three started at once is up once, and the others say so', isLong, async () => {
    // What a stack leaves that was killed is in all their ways.
    await mkdir(dirname(stackFile()), { recursive: true });
    await writeFile(stackFile(), '{"platform":"http://127.0.0.1:9"}\n');
    const all = [1, 2, 3].map(() => local('--no-functions'));
    const up = await Promise.any(all.map(async (stack) => (await stack.up()) && stack));
    const { platform } = JSON.parse(up.said.out);
    for (const other of all.filter((stack) => stack !== up)) {
      expect(await other.ended).toEqual([1, null]);
      expect(other.said).toEqual({
        out: '',
        err: `A stack is up already: its platform is ${platform}, and .local/stack.json tells the rest. Use it, or end it first (Ctrl-C, or SIGTERM).\n`,
      });
    }
    expect(await readFile(stackFile(), 'utf8')).toBe(up.said.out);
  });
});

test('a snapshot waits for a person as long as a deployed one', async () => {
  const template = await readFile(resolve(import.meta.dirname, '../../../serverless.yml'), 'utf8');
  const [, snapshotImport = ''] = template.split('\n  snapshot-import:\n');
  const [, seconds] = /executionTimeout: (\d+)/.exec(snapshotImport) ?? [];
  expect(durableOptionsOf('snapshot-import').executionTimeoutMs).toBe(Number(seconds) * 1000);
});

describe('npm start', () => {
  const start = (...words: string[]) =>
    run(process.execPath, 'test/run.js', 'test/local/commands/start.ts', ...words);
  const last = (text: string) => text.trimEnd().split('\n').at(-1);

  test('ends with status 0 where each message ended as expected, in plain lines without a terminal', async () => {
    const { said, ended } = start('null', 'grade');
    expect(await ended).toEqual([0, null]);
    expect(said.err).toBe('');
    expect(said.out).toMatch(/^ +[\d.]+ s {2}parked +a null grade {2}grade-push · invalid$/m);
    expect(said.out).toMatch(/^1 dead letter, with the parsed error and what to do about it$/m);
    expect(said.out).toMatch(/^ {2}what happened {2}.*the platform cannot clear a grade$/m);
    expect(said.out).toMatch(/^ {2}what to do {5}Have the producer correct the message/m);
    expect(said.out).toMatch(/^grade-push {13} +· +· +· +1 +·$/m);
    expect(last(said.out)).toMatch(/^✓ 1 of 1 scenario ended as they must, in [\d.]+ s$/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what begins a colour
    expect(said.out).not.toMatch(/\u001b/);
  });

  test('plays every function', async () => {
    const played = (await program()).map(({ step }) => step.function);
    const files = await readdir(join(project, 'functions'));
    expect([...new Set(played)].sort()).toEqual(files.map((file) => file.replace('.ts', '')).sort());
  });

  test('has not gone well where one ended otherwise, and tells what is otherwise', async () => {
    const [{ step } = {}] = await program();
    const stream = new PassThrough();
    const screen = createScreen(40, { stream: stream as unknown as NodeJS.WriteStream });
    const results = [{ step: step!, problems: ['how it ended: ["parked"] and not ["done"]'] }];
    expect(report(screen, { results, scenarios: [], written: [] })).toBe(false);
    const said = `${stream.read()}`;
    expect(said).toContain(`✗ ${step?.title}: how it ended: ["parked"] and not ["done"]`);
    expect(last(said)).toMatch(/^✗ 0 of 1 scenario ended as they must/);
  });
});

describe('a node below 24, called directly', () => {
  test('ends npm start with a sentence that says what to run', async ({ skip }) => {
    const node = await oldNode();
    if (node === undefined) return skip('there is no node below 24 on this machine');
    const [, ...words] = scripts.start?.split(' ') ?? [];
    const { said, ended } = run(node, ...words);
    expect(await ended).toEqual([1, null]);
    const err = expect.stringMatching(
      /^sis-relay needs Node 24 or newer, but this is Node v\d+\.\d+\.\d+\. Run `npm .*`: on Linux, macOS and Windows \(x64\) they use the Node that the project brings\.\n$/,
    );
    expect(said).toEqual({ out: '', err });
  });

  test('is met by every script that runs a program of the project, and none needs more than every shell has', () => {
    for (const line of Object.values(scripts)) {
      expect(line).not.toMatch(/^(exec |\w+=)|[';|$]/);
      expect(line).toMatch(/^(node test\/run\.js .*|serverless package|biome .*)$/);
    }
  });
});

/** The machine's own node, if it is an old one. */
async function oldNode(): Promise<string | undefined> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/bin', '/usr/bin'];
  for (const folder of new Set(folders)) {
    const node = join(folder, 'node');
    if (folder.includes('node_modules') || !existsSync(node)) continue;
    const { stdout } = await promisify(execFile)(node, ['--version']);
    if (Number(/^v(\d+)/.exec(stdout)?.[1]) < 24) return node;
  }
  return undefined;
}
