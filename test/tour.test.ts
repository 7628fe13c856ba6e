import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sectionOf } from './documents.ts';
import { localOffice } from './lib/desk/cli/local-office.ts';
import { typed } from './lib/desk/cli/typed.ts';
import { localClient } from './local/aws/aws.ts';
import { example } from './local/examples.ts';

/** The README's tour: what it says is typed here as it stands, and what it shows must be printed. */
const tour = sectionOf('README.md', '## A tour in five minutes');
const blocks = [...tour.matchAll(/^```(sh|text)\n(.*?)^```$/gms)].map(([, kind, text = '']) => ({
  kind,
  text,
}));
const lines = blocks.flatMap(({ kind, text }) => (kind === 'sh' ? text.trim().split(/\n(?! )/) : []));
const [shown] = blocks.flatMap(({ kind, text }) => (kind === 'text' ? [text] : []));

const office = localOffice({ inProcess: ['enrollment-create', 'grade-push'] });

/** Until the functions are done with what lies on their queues, as somebody would wait who watches the log. */
const settled = () =>
  expect
    .poll(async () => {
      const { sqs, description } = office.stack();
      const counts = ['enrollment-create', 'grade-push'].map(async (name) => {
        const { Attributes = {} } = await sqs.send(
          new GetQueueAttributesCommand({
            QueueUrl: description.queues[name],
            AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
          }),
        );
        return Object.values(Attributes).map(Number);
      });
      return (await Promise.all(counts)).flat().reduce((sum, each) => sum + each, 0);
    })
    .toBe(0);

const controlled = async (line: string) => {
  const [, method, path, body] =
    /^curl -X (\w+) \$PLATFORM(\/_local\/\w+)(?: -d '([^']+)')?$/.exec(line) ?? [];
  if (method === undefined) throw new Error(`The tour has a line that this test does not know: ${line}`);
  const answer = await fetch(`${office.stack().description.platform}${path}`, { method, body: body ?? null });
  expect(answer.ok, line).toBe(true);
};

test('whoever follows the tour sees what it shows, and the grade is on the platform', async () => {
  const [start, ...others] = lines;
  expect(start).toBe('npm run local');
  const said: { command: string; status: number; out: string }[] = [];
  for (const line of others) {
    if (line === `PLATFORM=$(node -p "require('./.local/stack.json').platform")`) continue;
    const [, command] = /^npx sis-relay (.*) --local\b/.exec(line) ?? [];
    if (command === undefined) {
      await controlled(line);
      continue;
    }
    const rest = line.slice(`npx sis-relay ${command} --local`.length);
    const { status, out, err } = await typed(`${command} --stack ${office.file}${rest}`, { answers: ['y'] });
    said.push({ command: command.split(' ').slice(0, 2).join(' '), status, out: out || err });
    await settled();
  }
  expect(said.map(({ command, status }) => `${command}: ${status}`)).toEqual([
    'publish events/enrollment-create.json: 0',
    'publish events/grade-push.json: 0',
    'letters groups: 0',
    'letters replay: 0',
    // There is nothing left to do.
    'letters groups: 1',
  ]);
  const [, , groups, , afterwards] = said;
  // Whoever follows it has started the command by npx.
  const byNpx = groups?.out.replaceAll(': sis-relay ', ': npx sis-relay ');
  expect(byNpx?.replace(/\s--stack\s+\S+/g, ' --local')).toBe(shown);
  expect(afterwards?.out).toContain('there are no dead letters');
  const { gradeValues, enrollments } = await office.controls().state();
  expect(gradeValues).toContainEqual(expect.objectContaining({ userId: 301, pointsNumerator: 8.5 }));
  const { orgUnitId, userId, roleId } = JSON.parse(await example('enrollment-create')).data;
  expect(enrollments).toContainEqual(expect.objectContaining({ orgUnitId, userId, roleId }));
});

describe('the producers’ guide', () => {
  const codeOf = (section: string, language: string): string => {
    const [, code] =
      new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(sectionOf('events/README.md', section)) ??
      [];
    if (code === undefined) throw new Error(`${section} has no ${language}`);
    return code;
  };
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const environment = () => ({
    ...process.env,
    STAGE: 'local',
    AWS_ENDPOINT_URL_SQS: office.stack().description.sqs,
    AWS_REGION: office.stack().description.region,
    AWS_DEFAULT_REGION: office.stack().description.region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  });
  const known = (userIds: readonly number[]) =>
    office.controls().seed({
      users: userIds.map((userId) => ({
        userId,
        userName: `u${userId}`,
        firstName: 'L',
        lastName: `${userId}`,
      })),
    });
  const rolesOf = async (userIds: readonly number[]) => {
    const { enrollments = [] } = await office.controls().state('enrollments');
    return userIds.map(
      (each) => enrollments.find(({ orgUnitId, userId }) => orgUnitId === 2001 && userId === each)?.roleId,
    );
  };
  const enrollmentsMade = async () =>
    (await office.controls().requests()).filter(
      ({ method, path }) => method === 'POST' && path.endsWith('/enrollments/'),
    ).length;
  const eventOf = (userId: number) => ({
    specversion: '1.0',
    id: `of user ${userId}`,
    source: '/sis/test',
    type: 'sis.enrollment-create.v1',
    time: new Date().toISOString(),
    data: { orgUnitId: 2001, userId, roleId: 110 },
  });

  test('has a poller of an outbox that loses nothing, and undoes nothing, if it is killed between sending and marking', async () => {
    const users = Array.from({ length: 10 }, (_, at) => 1_100 + at);
    await known(users);
    const before = await enrollmentsMade();
    const [file, program] = [join(office.folder, 'outbox.db'), join(office.folder, 'outbox.mjs')];
    const database = new DatabaseSync(file, { timeout: 60_000 });
    database.exec(codeOf('### An outbox table', 'sql'));
    writeFileSync(program, codeOf('### An outbox table', 'js'));
    symlinkSync(
      resolve(import.meta.dirname, '../node_modules'),
      join(office.folder, 'node_modules'),
      'junction',
    );
    const insert = database.prepare('insert into outbox (type, data) values (?, ?)');
    const enroll = (userId: number, roleId: number) =>
      insert.run('sis.enrollment-create.v1', JSON.stringify({ orgUnitId: 2001, userId, roleId }));
    const unsent = () => database.prepare('select id from outbox where sent = 0').all().length;
    const poll = () => {
      const child = spawn(process.execPath, [program], {
        env: { ...environment(), OUTBOX: file },
        stdio: 'ignore',
      });
      const exit = once(child, 'exit');
      onTestFinished(() => void child.kill('SIGKILL'));
      return async () => {
        child.kill('SIGKILL');
        expect(await exit).toEqual([null, 'SIGKILL']);
      };
    };
    for (const userId of users) enroll(userId, 110);

    // It sends, and cannot mark what it has sent.
    database.exec('begin immediate');
    const kill = poll();
    await expect.poll(() => rolesOf(users)).toEqual(users.map(() => 110));
    await kill();
    database.exec('rollback');
    expect(unsent()).toBe(10);

    // All comes again, behind what is newer and before it.
    for (const userId of users) enroll(userId, 109);
    const end = poll();
    await expect.poll(unsent).toBe(0);
    await end();
    await settled();
    expect(await rolesOf(users)).toEqual(users.map(() => 109));
    expect(await enrollmentsMade()).toBe(before + 20);

    // A clock that was a minute ahead, and is right again.
    database.exec(
      `update outbox set time = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+60 seconds') where id = 20`,
    );
    enroll(users[0]!, 110);
    const times = database.prepare('select time from outbox where id >= 20 order by id').all();
    expect(times[1]).toEqual(times[0]);
    database.close();
  });

  const isThere = (command: string, ...words: string[]): boolean => spawnSync(command, words).status === 0;

  test.skipIf(!isThere('python3', '-c', 'import boto3'))('sends with Python', async () => {
    const users = [1_201, 1_202];
    await known(users);
    const program = `${codeOf('### Python', 'python')}\nprint(len(send(json.load(open("events.json")))))`;
    writeFileSync(join(office.folder, 'events.json'), JSON.stringify(users.map(eventOf)));
    // As a producer types it, who knows nothing but what is written there.
    mkdirSync(join(office.folder, '.local'));
    symlinkSync(office.file, join(office.folder, '.local/stack.json'));
    const { PATH = '' } = process.env;
    const lines = `${codeOf('### On the local stack', 'sh')}\nexec python3 -c "$PROGRAM"`;
    const { stdout } = await promisify(execFile)('bash', ['-c', lines], {
      cwd: office.folder,
      env: { PATH, PROGRAM: program },
    });
    expect(stdout).toBe('2\n');
    await expect.poll(() => rolesOf(users)).toEqual([110, 110]);
  });

  test('has a file of events sent that is put into the bucket', async () => {
    const users = [1_401, 1_402];
    await known(users);
    const { s3, bucket } = office.stack().description;
    const client = new S3Client({ ...localClient(s3), forcePathStyle: true });
    onTestFinished(() => client.destroy());
    const Body = users.map((userId) => JSON.stringify(eventOf(userId))).join('\n');
    await client.send(
      new PutObjectCommand({ Bucket: bucket, Key: 'events/enrollment-create/tonight.jsonl', Body }),
    );
    await expect.poll(() => rolesOf(users)).toEqual([110, 110]);
  });

  describe.skipIf(!isThere('curl', '--version') || !isThere('jq', '--version'))('by HTTP', () => {
    const send = async (userId: number, url: string) => {
      writeFileSync(join(office.folder, 'event.json'), JSON.stringify(eventOf(userId), null, 2));
      const child = spawn('bash', ['-c', codeOf('### HTTP', 'sh')], {
        cwd: office.folder,
        env: { ...environment(), QUEUE_URL: url },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      expect(await once(child, 'exit')).toEqual([0, null]);
    };

    test('sends', async () => {
      await known([1_301]);
      await send(1_301, office.stack().description.queues['enrollment-create'] ?? '');
      await expect.poll(() => rolesOf([1_301])).toEqual([110]);
    });

    test('signs as AWS’ own signer', async () => {
      const heard = Promise.withResolvers<{ headers: Record<string, string>; body: Buffer }>();
      const server = createServer(async (request, response) => {
        heard.resolve({ headers: request.headers as Record<string, string>, body: await buffer(request) });
        response.end('{}');
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      await send(1_301, `http://127.0.0.1:${(server.address() as AddressInfo).port}/000000000000/queue`);
      server.close();
      const { headers, body } = await heard.promise;
      const [, names = ''] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? [];
      // AWS refuses a request if one of these is not signed.
      const needed = Object.keys(headers).filter((name) => name === 'host' || name.startsWith('x-amz-'));
      expect(names.split(';')).toEqual(expect.arrayContaining(needed));
      const given = Object.fromEntries(names.split(';').map((name) => [name, headers[name] ?? '']));
      const [, ...date] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(headers['x-amz-date'] ?? '') ?? [];
      const [year = 0, month = 0, ...rest] = date.map(Number);
      const signer = new SignatureV4({
        credentials,
        region: office.stack().description.region,
        service: 'sqs',
        sha256: Sha256,
        applyChecksum: 'x-amz-content-sha256' in given,
      });
      const request = new HttpRequest({ method: 'POST', path: '/', headers: given, body });
      const signed = await signer.sign(request, {
        signingDate: new Date(Date.UTC(year, month - 1, ...rest)),
        signableHeaders: new Set(names.split(';')),
      });
      const normal = (text = '') => text.replaceAll(/,\s*/g, ', ');
      expect(normal(signed.headers.authorization)).toBe(normal(headers.authorization));
    });
  });
});
