import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { sqsMessageOf } from '../../../lib/delivery/letters/dead-letter.ts';
import { commandOfPath, commands } from '../../../lib/desk/console/command-of-path.ts';
import { changesKey, recordKey, type SnapshotRecord } from '../../../lib/options/snapshots/state/record.ts';
import { type CommandName, policyIds, type Role, roleOf, roles } from '../../../lib/stage/roles.ts';
import { readStack } from '../../../lib/stage/stack-outputs.ts';
import { targetFrom } from '../../../lib/stage/target.ts';
import { writtenPart } from '../../documents.ts';
import { typed } from '../../lib/desk/cli/typed.ts';
import { appWith, openConsole } from '../../lib/desk/console/attacker.ts';
import { startStackServer } from '../../lib/stage/stack-server.ts';
import { controlsOf } from '../../local/controls.ts';
import { example } from '../../local/examples.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { deploy } from '../cloudformation.ts';
import { type Recorder, recordAwsCalls } from '../deployed/aws-recorder.ts';
import { packagedProject } from '../packages.ts';
import { type AwsCall, coverOf, statementsOf } from '../policies.ts';
import { rolesTable } from './desk-roles.ts';

/**
 * People use the command against AWS that enforces the policies of the packaged template. permissions.test.ts leads each verb to its
 * end, and tells what a policy allows in vain.
 */
const deployment = deploy((await packagedProject()).template);
const bucket = deployment.arnOf('Files').split(':').at(-1) ?? '';

let stack: Stack;
let recorder: Recorder;
let stacks: Awaited<ReturnType<typeof startStackServer>>;
let letter = '';
let role: Role = 'lead';

const statementsOfPolicy = (of: Role) =>
  deployment
    .ofType('AWS::IAM::ManagedPolicy')
    .filter(({ id }) => id === policyIds[of])
    .flatMap(({ PolicyDocument }) => statementsOf(PolicyDocument));

/** A person has the policies of the roles below their own, too. */
const statements = Object.fromEntries(
  roles.map((of, at) => [of, roles.slice(0, at + 1).flatMap(statementsOfPolicy)]),
);
const isAllowed = (call: AwsCall): boolean => coverOf(call, statements[role] ?? []).length > 0;

const folder = temporaryFolder();
const file = join(folder, 'file');
const snapshot = '20261123T020000Z-0a1b2c3d';
const why = '--reason "a test"';

/** How each verb is typed, also those of options. */
const lines: Readonly<Record<string, () => string>> = {
  status: () => 'status',
  'letters groups': () => 'letters groups',
  'letters list': () => 'letters list',
  'waiting list': () => 'waiting',
  trace: () => `trace ${letter} --log`,
  log: () => 'log',
  'snapshots list': () => 'snapshots list',
  'snapshots show': () => `snapshots show ${snapshot}`,
  'reconcile show': () => 'reconcile show',
  'reconcile report': () => 'reconcile report --html -',
  'crosswalk show': () => 'crosswalk show --code BIO-101',
  'crosswalk moved': () => 'crosswalk moved',
  'letters show': () => `letters show ${letter}`,
  'letters show --reveal': () => `letters show ${letter} --reveal ${why}`,
  'letters export': () => `letters export --to ${join(folder, `${role}.jsonl`)} ${why}`,
  'letters edit': () => `letters edit ${letter} --set data.comments=mended --yes ${why}`,
  'letters replay': () => `letters replay --yes --no-probe ${why}`,
  'letters discard': () => `letters discard --all --yes ${why}`,
  'letters verify': () => 'letters verify --yes',
  'letters reindex': () => 'letters reindex',
  'waiting wake': () => `waiting wake --yes ${why}`,
  'snapshots diff': () => `snapshots diff ${join(folder, 'a.csv')}`,
  'reconcile run': () => 'reconcile run --no-wait',
  publish: () => 'publish events/grade-push.json',
  'letters import': () => `letters import ${file} --yes`,
  pause: () => `pause grade-push ${why}`,
  resume: () => 'resume grade-push',
  'snapshots approve': () => `snapshots approve ${snapshot} --yes`,
  'snapshots reject': () => `snapshots reject ${snapshot} --yes ${why}`,
  'snapshots put': () => `snapshots put ${join(folder, 'a.csv')}`,
  'snapshots end': () => `snapshots end a.csv --yes ${why}`,
  'reconcile accept': () => `reconcile accept grade/2001/5001/301 --yes ${why}`,
  'reconcile resend': () => `reconcile resend grade/2001/5001/301 --yes ${why}`,
  'crosswalk accept': () => 'crosswalk accept BIO-101 --yes',
  'crosswalk fill': () => 'crosswalk fill --yes',
  'auth-url': () => `auth-url --callback https://localhost/done --returned ${file} --yes`,
};

const lineOf = (verb: CommandName): string => {
  const line = lines[verb]?.();
  if (line === undefined) throw new Error(`Say above how ${verb} is typed.`);
  return line;
};

/** As a person of this role types it; `done`: what was allowed and changes something. */
const type = async (as: Role, line: string) => {
  role = as;
  const before = recorder.calls.length;
  const { status, out, err } = await typed(line);
  const calls = recorder.calls.slice(before);
  const done = calls.filter((call) => isAllowed(call) && changes(call)).map(({ action }) => action);
  return { status, said: `${out}${err}`.replace(/\s+/g, ' '), done };
};

const looks = new Map<string, ReturnType<typeof type>>();
/** What only looks is typed once for all tests that look at it. */
const look = (as: Role, line: string) => {
  const answer = looks.get(`${as} ${line}`) ?? type(as, line);
  looks.set(`${as} ${line}`, answer);
  return answer;
};

/** All but the check of the audit log, which holds no letter and no change. */
const changes = ({ action, resource }: AwsCall): boolean =>
  /:(Send|Put|Create|Update|Delete|Batch\w*Write|Invoke|Change|Receive|Stop)/.test(action) &&
  !/\/audit\/check-\w+\.json$/.test(resource);

const put = (Key: string, Body: string | Buffer) =>
  stack.s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));

beforeAll(async () => {
  stack = await startStack({ functions: false });
  recorder = await recordAwsCalls(stack.description, { isAllowed });
  stacks = await startStackServer({
    'sis-relay-local': { FilesBucket: bucket, PlatformUrl: stack.description.platform },
  });
  const environment = {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL: recorder.url,
    AWS_ENDPOINT_URL_S3: recorder.url,
    AWS_ENDPOINT_URL_SQS: recorder.url,
    AWS_ENDPOINT_URL_CLOUDFORMATION: stacks.url,
    SIS_RELAY_STAGE: 'local',
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  await stack.s3.send(new CreateBucketCommand({ Bucket: bucket }));
  await controlsOf(stack.description).secret('sis-relay/local/service', {
    type: 'id-key',
    appId: 'local-app',
    appKey: 'local-app-key',
    userId: '100',
    userKey: 'local-key-100',
  });
  await writeFile(file, 'https://localhost/done?x_a=301&x_b=local-key-301');
  await writeFile(join(folder, 'a.csv'), 'ID\n1\n');
  await put(recordKey(snapshot), JSON.stringify(waitingSnapshot));
  const removal = { sequence: '1', data: { userName: 'lee.learner', orgUnitCode: 'MATH-101' } };
  await put(changesKey(snapshot), gzipSync(`${JSON.stringify(removal)}\n`));
  const at = new Date().toISOString();
  const failure = { kind: 'rejected' as const, message: 'a failure', remedy: 'none', function: 'grade-push' };
  const message = sqsMessageOf({
    body: await example('grade-push'),
    replays: 0,
    attributes: {},
    source: deployment.arnOf('gradepushQueue'),
    failure: { ...failure, attempts: 9, firstAt: at, lastAt: at },
  });
  await stack.sqs.send(new SendMessageCommand({ QueueUrl: stack.description.deadLetters, ...message }));
  expect((await type('lead', 'letters reindex')).status).toBe(0);
  letter = JSON.parse((await typed('letters list --json')).out).letters[0].id;
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await Promise.all([stack?.close(), recorder?.close(), stacks?.close()]);
});

const counts = { created: 0, updated: 0, removed: 9, unchanged: 1, refused: 0 };
const waitingSnapshot: SnapshotRecord = {
  id: snapshot,
  key: 'snapshots/a.zip',
  state: 'waiting-for-approval',
  counts,
  sent: 0,
  of: 9,
  byKind: { enrollments: counts },
  droppedAt: '2026-11-23T02:00:00Z',
  startedAt: '2026-11-23T02:00:01Z',
  callbackId: 'a-callback',
};

const allVerbs = Object.keys(roleOf) as CommandName[];
const verbsOf = (of: Role) => allVerbs.filter((verb) => roleOf[verb] === of);
const nobodys = roles.flatMap((as, at) =>
  roles
    .slice(at + 1)
    .flatMap((above) => verbsOf(above).map((verb): [CommandName, Role, Role] => [verb, as, above])),
);

test('the table of roles in the runbook is what the code says: else npm run generate', () => {
  expect(writtenPart('roles')).toBe(rolesTable());
});

test.each(nobodys)(
  '%s, as a %s types it, says that it needs the role %s, and changes nothing',
  async (verb, as, above) => {
    const { status, said, done } = await type(as, lineOf(verb));
    expect(said).toContain(`This needs the role ${above} (policy `);
    expect({ status, done }).toEqual({ status: 1, done: [] });
  },
);

test.each(Object.entries(roleOf))('the help of %s names its role: %s', async (verb, its) => {
  const { out } = await typed(`help ${verb.replace(' --reveal', '')}`);
  expect(out).toContain(`Role: ${its}`);
});

describe('a reader', () => {
  test.each(verbsOf('reader'))('sees with %s what a lead sees', async (verb) => {
    const [reader, lead] = [await look('reader', lineOf(verb)), await look('lead', lineOf(verb))];
    expect(reader.status, reader.said).toBe(lead.status);
    expect(reader.said).not.toContain('does not allow');
    expect(reader.done).toEqual([]);
  });

  test.each([
    ['publish events/grade-push.json --dry-run', 0],
    ['letters discard --all --reason "a test" --dry-run', 0],
    ['waiting wake --dry-run', 1],
  ])('makes the plan of %s', async (line, status) => {
    const reader = await type('reader', line);
    expect(reader).toMatchObject({ status, done: [] });
    expect(reader.said).not.toMatch(/does not allow|needs the role/);
  });

  test('gets no plan of a replay, which tries the credential', async () => {
    const { status, said, done } = await type('reader', 'letters replay --dry-run');
    expect(said).toContain('This needs the role operator (policy sis-relay-local-Operators-…)');
    expect({ status, done }).toEqual({ status: 1, done: [] });
  });

  test('sees that the credential was not tried, and nothing that a refused one would show', async () => {
    const [reader, operator] = [await look('reader', 'status'), await look('operator', 'status')];
    expect(reader.said).toContain('may not read that secret. This needs the role operator');
    expect(reader.said).not.toMatch(/refuses|cannot be read/);
    expect(operator.said).toContain('It accepts the service’s credential');
  });

  test('sees how many a snapshot would remove, and not whom', async () => {
    const line = lineOf('snapshots show');
    const [reader, operator] = [await look('reader', line), await look('operator', line)];
    for (const { said } of [reader, operator]) expect(said).toContain('It would remove 9 enrollments');
    expect(reader.said).toContain('Whom: This needs the role operator');
    expect(reader.said).not.toContain('lee.learner');
    expect(operator.said).toContain('lee.learner');
  });
});

describe('the console', () => {
  /** As a person of this role opens it. */
  const openAs = (as: Role) => {
    role = as;
    return openConsole(targetFrom({ readStack }));
  };
  /** The addresses of the forms and buttons of a page that can be used, and the roles that it names. */
  const on = (page: string) => {
    const usable = page.replace(/<fieldset[^>]* disabled>.*?<\/fieldset>/gs, '');
    const actions = [...usable.matchAll(/<form method="post"[^>]* action="([^"]+)"|formaction="([^"]+)"/g)];
    return {
      forms: actions.flatMap(([, action, other]) => commandOfPath(action ?? other ?? '') ?? []),
      needed: [...new Set([...page.matchAll(/(?:needs|need) the role (\w+)/g)].map(([, named]) => named))],
    };
  };
  const paths = () => [
    `/letters/${letter}`,
    '/letters',
    '/publish',
    '/log',
    `/snapshots/${snapshot}`,
    '/crosswalk',
  ];

  test('knows what each of its forms does', () => {
    const posts = appWith().app.routes.filter(({ method }) => method === 'POST');
    const untold = posts.map(({ path }) => path).filter((path) => !(path in commands));
    expect(untold.sort()).toEqual([
      '/crosswalk',
      '/filters',
      '/filters/forget',
      '/find',
      '/keys',
      '/letters/search',
      '/runs/:id/answer',
      '/runs/:id/stop',
      '/session',
    ]);
  });

  test('shows a lead each form', async () => {
    const served = await openAs('lead');
    for (const path of paths()) {
      const { status, text } = await served.get(path);
      expect(status, text).toBe(200);
      expect(on(text).needed, path).toEqual([]);
    }
    await served.close();
  });

  test.each(['reader', 'operator'] as const)(
    'shows a %s what the role may not do as disabled, with the one that may',
    async (as) => {
      const served = await openAs(as);
      const needed = new Set<string | undefined>();
      for (const path of paths()) {
        const { status, text } = await served.get(path);
        expect(status, text).toBe(200);
        const found = on(text);
        for (const verb of found.forms)
          expect(roles.indexOf(roleOf[verb]), `${path} ${verb}`).toBeLessThanOrEqual(roles.indexOf(as));
        for (const each of found.needed) needed.add(each);
      }
      expect([...needed].sort()).toEqual(as === 'reader' ? ['lead', 'operator'] : ['lead']);
      await served.close();
    },
  );

  test('refuses a reader’s form', async () => {
    const served = await openAs('reader');
    const before = recorder.calls.length;
    for (const [path, verb] of Object.entries(commands)) {
      const answer = await served.post(path.replace(':id', letter), { reason: 'a test' });
      expect(answer.status, answer.text).toBe(400);
      expect(answer.text).toContain(`This needs the role ${roleOf[verb]} (policy sis-relay-local-`);
    }
    // It reads its lists by itself.
    expect(recorder.calls.slice(before).filter(changes)).toEqual([]);
    await served.close();
  });
});
