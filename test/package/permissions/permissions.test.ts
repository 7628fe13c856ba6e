import { randomUUID } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { LambdaClient, SendDurableExecutionCallbackSuccessCommand } from '@aws-sdk/client-lambda';
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { PurgeQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { functionNames } from '../../../esbuild.config.ts';
import { sqsMessageOf } from '../../../lib/delivery/letters/dead-letter.ts';
import { writeRecord } from '../../../lib/delivery/letters/write-record.ts';
import { run } from '../../../lib/desk/cli/cli.ts';
import type { Failure } from '../../../lib/message/failure.ts';
import { decisionOn } from '../../../lib/options/reconcile/desk/choose-findings.ts';
import {
  type Finding,
  findingsKey,
  type Report,
  resendKey,
  reportKey as runReportKey,
} from '../../../lib/options/reconcile/record.ts';
import { acceptedNamesPrefix, reassignedKey } from '../../../lib/options/snapshots/state/reassigned-names.ts';
import {
  acceptedKeyOf,
  recordKey,
  reportKey,
  type SnapshotRecord,
  stateKey,
} from '../../../lib/options/snapshots/state/record.ts';
import { unacceptedPrefix } from '../../../lib/options/snapshots/state/unaccepted.ts';
import { createQuickDynamoDb } from '../../../lib/runtime/aws/dynamodb-quick.ts';
import { memoize } from '../../../lib/runtime/aws/memoize.ts';
import {
  type CommandName,
  isCommandName,
  policyIds,
  type Role,
  roleOf,
  roles,
} from '../../../lib/stage/roles.ts';
import { readStack } from '../../../lib/stage/stack-outputs.ts';
import { targetFrom } from '../../../lib/stage/target.ts';
import { noticeOf } from '../../envelopes.ts';
import { eventually } from '../../eventually.ts';
import { filled } from '../../lib/crosswalk/filled.ts';
import { quietTerminal } from '../../lib/desk/cli/typed.ts';
import { openConsole } from '../../lib/desk/console/attacker.ts';
import { startStackServer } from '../../lib/stage/stack-server.ts';
import { localClient } from '../../local/aws/aws.ts';
import { type Controls, controlsOf } from '../../local/controls.ts';
import { eventOf, example } from '../../local/examples.ts';
import { mapping, registration, startChanges } from '../../options/changes/changes.ts';
import { entriesOfSis, smallSis, zipOf } from '../../options/snapshots/sis.ts';
import { enrollmentRows, type StateRow, stateFile, tableRow } from '../../options/snapshots/state-file.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { alarmsIn, deploy } from '../cloudformation.ts';
import { recordAwsCalls } from '../deployed/aws-recorder.ts';
import { type Deployed, deployLocally } from '../deployed/deployed.ts';
import { packagedProject } from '../packages.ts';
import { type AwsCall, allGrants, coverOf, statementsOf, statementsOfRole } from '../policies.ts';

const root = resolve(import.meta.dirname, '../../..');

/**
 * Rights are judged here by what the packaged functions and the command call: each function does its work once in every run, and goes
 * all its ways in the long ones, which also find what a role allows in vain.
 */
const packaged = await packagedProject();
const deployment = deploy(packaged.template);

/** Roles are alike that allow the same, but for the function's name. */
const kindOfRole = (name: string): string => {
  const statements = statementsOfRole(deployment, name);
  return JSON.stringify(allGrants(statements).map((grant) => grant.replaceAll(name, '…')));
};
/** Whoever has added a function asks for that alone. */
const { PERMISSIONS_OF: asked } = process.env;
const kinds = Map.groupBy(asked === undefined ? functionNames : [asked], kindOfRole);
const oneOfEachKind = [...kinds.values()].flatMap(([first]) => first ?? []);
const others = [...kinds.values()].flatMap(([, ...more]) => more);
const all = [...kinds.values()].flat();

let deployed: Deployed;
let changes: Awaited<ReturnType<typeof startChanges>>;

beforeAll(async () => {
  changes = await startChanges();
  const settings = {
    CHANGES_URL: changes.url,
    CHANGES_PRIVATE: 'true',
    CHANGES_SECRET: 'changes',
    // Else nobody knows for hours what an id of the SIS stands for.
    WAIT_UNKNOWN_ID_HOURS: '0.0001',
  };
  const code = () => inject('code');
  deployed = await deployLocally(packaged, { settings, code, change: { maximumConcurrency: 1 } });
  await putFiles();
  await controlsOf(deployed.stack.description).secret('sis-relay/local/lti-links/9001', {
    key: 'link-key',
    plainSecret: 'link-secret',
  });
});
afterAll(() => Promise.all([deployed?.close(), changes?.close()]));

const queuedOf = (names: string[]): string[] =>
  names.filter((name) => deployed.stack.description.queues[name] !== undefined);

/** The calls of a function that its role does not allow, and what its role allows in vain. */
function judged(name: string) {
  const statements = statementsOfRole(deployment, name);
  const queue = deployed.stack.description.queues[name];
  const isQueued = queue !== undefined;
  const calls = [...deployed.callsOf(name), ...lambdasOwn(`sis-relay-local-${name}`, queue)];
  const used = new Set(calls.flatMap((call) => coverOf(call, statements)));
  const isLike = (grant: string): boolean =>
    sendsToAny.includes(name) && isToAQueue(grant) && [...used].some(isToAQueue);
  return {
    forbidden: calls.filter((call) => coverOf(call, statements).length === 0),
    inVain: allGrants(statements).filter(
      (grant) =>
        !used.has(grant) && !isForLongJobs(grant) && !(isQueued && isForLastRelease(grant)) && !isLike(grant),
    ),
  };
}

/** What they are given names the function: one queue that they send to here stands for the others. */
const sendsToAny = ['change-poll', 'dead-letter-replay'];
/** Of a function, and no other. */
const isToAQueue = (grant: string): boolean =>
  Object.keys(deployed.stack.description.queues).some((name) =>
    grant.endsWith(`sqs:SendMessage on arn:aws:sqs:us-east-1:000000000000:sis-relay-local-${name}`),
  );

/** What they do otherwise comes after it: also if these tests are left out. */
const doOnce = memoize(async () => {
  for (const name of queuedOf(all)) {
    const { ends } = await deployed.send(name, await exampleWithFiles(name));
    expect(await ends(), name).toMatchObject({ outcome: 'done' });
  }
  // Each looks into what others have done, whichever is asked for.
  for (const name of functionNames) await unqueued[name]?.once();
});

describe('a function that does its work once', () => {
  beforeAll(doOnce);

  test.each(all)('%s is allowed all that it calls', (name) => {
    expect(deployed.callsOf(name)).not.toEqual([]);
    expect(judged(name).forbidden).toEqual([]);
  });
});

describe('a function with each kind of role', { tags: ['long'] }, () => {
  beforeAll(async () => {
    await doOnce();
    await sendEverything(queuedOf(oneOfEachKind), { fromSeconds: 60 });
    for (const name of oneOfEachKind) await unqueued[name]?.otherwise?.();
  });

  // They look into what all functions have done.
  describe('people', { skip: asked !== undefined }, () => {
    let calls: CallsOfVerbs;

    beforeAll(async () => {
      calls = await operate();
    });

    test('do each of their verbs here', () => {
      const done = Object.keys(calls).filter((verb) => verb !== 'console');
      expect(done.sort()).toEqual(Object.keys(roleOf).sort());
    });

    test.each(Object.keys(roleOf) as CommandName[])(
      '%s is allowed to its role and those above it, and to no other',
      (verb) => {
        const refused = Object.fromEntries(roles.map((role) => [role, refusedTo(role, calls, verb)]));
        const least = roles.indexOf(roleOf[verb]);
        for (const role of roles.slice(least)) expect(refused[role], role).toEqual([]);
        for (const role of roles.slice(0, least)) expect(refused[role], role).not.toEqual([]);
      },
    );

    test('look at the console as readers', () => {
      expect(refusedTo('reader', calls, 'console')).toEqual([]);
    });

    test('may beside this what the runbook has them do', () => {
      const statements = roles.flatMap(statementsOfPolicy);
      const all = Object.values(calls).flat();
      const used = new Set(all.flatMap((call) => coverOf(call, statements)));
      const others = allGrants(statements).filter((grant) => !used.has(grant));
      // Of those of what compares, these alone are not the command's.
      const about = others.filter((grant) => grant.includes('-reconcile'));
      expect(about.map((grant) => grant.split(' ')[0])).toEqual([
        'lambda:GetDurableExecution',
        'lambda:GetDurableExecutionHistory',
        'lambda:StopDurableExecution',
      ]);
      // To queues whose letters are not replayed here.
      const beside = others.filter((grant) => !isToAQueue(grant));
      expect([...new Set(beside.map((grant) => grant.split(' ')[0]))].sort()).toEqual([
        'lambda:GetDurableExecution',
        'lambda:GetDurableExecutionHistory',
        'lambda:InvokeFunction',
        'lambda:ListDurableExecutionsByFunction',
        'lambda:ListVersionsByFunction',
        'lambda:StopDurableExecution',
        'secretsmanager:CreateSecret',
        'secretsmanager:PutSecretValue',
      ]);
    });
  });

  test('writes its metrics to the namespace that the alarms read', () => {
    const lines = deployed.lines.filter((line) => line.includes('"_aws"')).map((line) => JSON.parse(line));
    const namespaces = lines.flatMap(({ _aws }) =>
      _aws.CloudWatchMetrics.map((each: { Namespace: string }) => each.Namespace),
    );
    const alarm = alarmsIn(deployment).find(({ id }) => id === 'LettersProducer');
    expect([...new Set(namespaces)]).toEqual([alarm?.watched[0]?.Namespace]);
    expect(oneOfEachKind.filter((name) => !deployed.metricWriters.has(name))).toEqual([]);
  });

  test.each(oneOfEachKind)('%s is allowed what it does, and nothing that it does not', (name) => {
    expect(judged(name)).toEqual({ forbidden: [], inVain: [] });
  });
});

// None, where one function alone is asked for.
describe.runIf(others.length > 0)(
  'a function whose role allows what that of another does',
  { tags: ['long'] },
  () => {
    beforeAll(() => sendEverything(queuedOf(others), { fromSeconds: 3600 }));

    test.each(others)('%s is allowed what it does, and nothing that it does not', (name) => {
      expect(judged(name)).toEqual({ forbidden: [], inVain: [] });
    });
  },
);

/** The records of an execution with more operations than one page are read where it goes on in another invocation: of long ones. */
const isForLongJobs = (grant: string): boolean =>
  /^lambda:GetDurableExecutionState .*-crosswalk-fill:/.test(grant);

/**
 * CloudFormation changes the roles first, so the functions of 1.0.0, which read the ledger, run for a while with these. Can go with the
 * first version that does not update from 1.0.0.
 */
const isForLastRelease = (grant: string): boolean =>
  /^dynamodb:GetItem on .*-ledger-by-resource$/.test(grant);

/** What Lambda does in the function's name: it polls the queue, and writes the log. */
function lambdasOwn(functionName: string, queueUrl: string | undefined): AwsCall[] {
  const at = 'us-east-1:000000000000';
  const queue = `arn:aws:sqs:${at}:${queueUrl?.split('/').at(-1)}`;
  const log = `arn:aws:logs:${at}:log-group:/aws/lambda/${functionName}:log-stream:2026/11/20/[$LATEST]0f6c1a52`;
  return [
    ...['logs:CreateLogStream', 'logs:PutLogEvents'].map((action) => ({ action, resource: log })),
    ...(queueUrl === undefined
      ? []
      : ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'].map((action) => ({
          action,
          resource: queue,
        }))),
  ];
}

/** Leads functions down each of their ways: done, refused for now, parked, done before. */
async function sendEverything(queued: string[], { fromSeconds }: { fromSeconds: number }): Promise<void> {
  const bodies = Object.fromEntries(
    await Promise.all(
      queued.map(async (name) => [name, laterThan(await exampleWithFiles(name), fromSeconds)] as const),
    ),
  );
  const body = (name: string): string => bodies[name] ?? '';
  const controls = controlsOf(deployed.stack.description);
  const sendAll = (bodyOf: (name: string) => Promise<string>, names = queued) =>
    Promise.all(names.map(async (name) => ({ name, ...(await deployed.send(name, await bodyOf(name))) })));
  const allEnd = async (messages: Awaited<ReturnType<typeof sendAll>>, wanted: string) => {
    const ends = await Promise.all(messages.map(async ({ name, ends }) => ({ name, ...(await ends()) })));
    expect(ends.filter(({ outcome }) => outcome !== wanted)).toEqual([]);
  };
  await allEnd(await sendAll(async (name) => body(name)), 'done');
  // In a file, which S3 tells of with and without its version.
  for (const hasVersion of [false, true])
    await allEnd(
      await sendAll(async (name) => {
        const key = `events/${name}/events.jsonl`;
        const { VersionId: versionId } = await putObject(key, JSON.stringify(JSON.parse(body(name))));
        return noticeOf({ bucket: bucket(), key, ...(hasVersion && versionId && { versionId }) });
      }),
      'done',
    );

  await allEnd(
    await sendAll(
      async (name) => namedBySis(body(name)),
      queued.filter((name) => name !== 'lti-link-update'),
    ),
    'parked',
  );

  const later = Object.fromEntries(queued.map((name) => [name, laterThan(body(name))]));
  // It would wait for the creation of a grade object in the same org unit, and not for the platform.
  const last = 'grade-object-update';
  const endLate = async (status: number, names: string[]) => {
    await controls.fault({ status }, { times: 1000 });
    const refused = await sendAll(async (name) => later[name] ?? '', names);
    await Promise.all(refused.map(({ waits }) => waits()));
    await controls.clearFaults();
    return Promise.all(refused.map(async ({ name, ends }) => ({ name, ...(await ends()) })));
  };
  const parked: string[] = [];
  for (const names of [queued.filter((name) => name !== last), queued.filter((name) => name === last)])
    for (const { name, outcome } of await endLate(503, names)) if (outcome === 'parked') parked.push(name);
  // What nobody knows the fate of is parked. One that was only too many is done later.
  for (const name of parked) later[name] = laterThan(later[name] ?? '');
  if (parked.length > 0) await endLate(429, parked);

  await allEnd(await sendAll(async () => 'not JSON'), 'parked');
  const name = deployed.stack.description.deadLetters.split('/').at(-1);
  const refusal = { action: 'SendMessage', name, status: 400, type: 'InvalidMessageContents' };
  // One by one: what says where the message is kept whole is a letter that SQS takes.
  for (const each of queued) {
    await controls.awsFault('sqs', { ...refusal, times: 1 });
    await allEnd(await sendAll(async () => 'nothing that SQS would take as a letter', [each]), 'parked');
  }

  // The next container knows nothing but what the ledger says.
  await Promise.all(queued.map((name) => deployed.lambda.recycle(name)));
  const known = await sendAll(async (name) => later[name] ?? '');
  await Promise.all(known.map(({ isSeen }) => isSeen()));
}

/** With an id of the SIS that nobody knows. */
const namedBySis = (body: string): string => {
  const event = JSON.parse(body);
  const { orgUnitId: _, ...course } = event.data;
  const { userId: __, ...user } = event.data;
  const data = _ === undefined ? { ...user, userName: 'nobody' } : { ...course, orgUnitCode: 'NOWHERE' };
  return JSON.stringify({ ...event, id: `${event.id} of the SIS`, data });
};

const invoke = async (name: string, event?: object): Promise<unknown> => {
  const result = await deployed.lambda.invoke(name, event ?? (await eventOf(name)));
  expect(result, `${name}: ${JSON.stringify(result)}`).toMatchObject({ ok: true });
  return result.ok ? result.payload : undefined;
};

/** Of those that no queue triggers: what makes each do its work, and then all else that it can. */
const unqueued: Record<string, { once(): Promise<void>; otherwise?(): Promise<void> }> = {
  'token-refresh': {
    once: async () => {
      const { platform } = deployed.stack.description;
      const { tokenUrl } = (await (await fetch(`${platform}/_local/oauth`)).json()) as { tokenUrl: string };
      const client = { type: 'oauth', grant: 'client_credentials', tokenUrl, clientId: 'local-client' };
      for (const name of ['service', 'users/303'])
        await controlsOf(deployed.stack.description).secret(`sis-relay/local/${name}`, {
          ...client,
          clientSecret: 'local-client-secret',
        });
      expect(await invoke('token-refresh')).toMatchObject({ refreshed: 2 });
    },
  },

  'connection-check': {
    once: async () => {
      expect(await invoke('connection-check')).toMatchObject({ reachable: true, problems: [] });
    },
  },

  'change-poll': {
    once: async () => {
      await controlsOf(deployed.stack.description).secret('sis-relay/local/changes', {
        header: 'Authorization',
        value: 'Bearer of-the-sis',
      });
      await putObject('change-poll/mapping.json', JSON.stringify(mapping));
      changes.has([registration(1), registration(2, { published: 'yesterday' })]);
      expect(await invoke('change-poll')).toMatchObject({ outcome: 'done', sent: 1, refused: 1 });
    },
    otherwise: async () => {
      const [created] = mapping.messages;
      const { orgUnitId, userId } = (created?.data ?? {}) as Record<string, unknown>;
      const removed = { function: 'enrollment-remove', data: { orgUnitId, userId } };
      await putObject('change-poll/mapping.json', JSON.stringify({ messages: [{ ...created, removed }] }));
      changes.has([registration(3)]);
      expect(await invoke('change-poll')).toMatchObject({ outcome: 'done', sent: 1 });
      changes.has([registration(4, { operation: 'deleted', content: undefined })]);
      expect(await invoke('change-poll')).toMatchObject({ outcome: 'done', sent: 1 });
    },
  },

  'course-export': {
    once: async () => {
      expect(await invoke('course-export')).toMatchObject({ outcome: 'complete' });
    },
    otherwise: async () => {
      // A result that is too large for the engine's records, and an upload that breaks off after its first part.
      const quizIds = Array.from({ length: 300 }, (_, at) => 990_000 + at);
      const request = { orgUnitIds: [2001], details: { 2001: { quizIds } } };
      expect(await invoke('course-export', request)).toMatchObject({ outcome: 'incomplete' });
      const controls = controlsOf(deployed.stack.description);
      const base64 = Buffer.alloc(12 * 1024 ** 2, 'image').toString('base64');
      await controls.seed({ courseImages: [{ orgUnitId: 2001, name: 'large.png', base64 }] });
      await controls.fault({ truncate: true }, { path: '/image$' });
      expect(await invoke('course-export', { orgUnitIds: [2001] })).toMatchObject({ outcome: 'complete' });
    },
  },

  'crosswalk-fill': {
    once: async () => {
      expect(await invoke('crosswalk-fill')).toMatchObject({ outcome: 'filled' });
    },
    otherwise: async () => {
      expect(await invoke('crosswalk-fill', { classlists: true })).toMatchObject({ outcome: 'filled' });
      const controls = controlsOf(deployed.stack.description);
      await controls.seed({
        orgUnits: [
          { orgUnitId: 2001, code: 'OTHER' },
          { orgUnitId: 7001, code: 'BIO-101' },
        ],
      });
      expect(await invoke('crosswalk-fill')).toMatchObject({ outcome: 'filled' });
      await putObject('crosswalk/users.csv', 'userId,userName\n301,lee.learner\nx,nobody\n');
      expect(await invoke('crosswalk-fill')).toMatchObject({ outcome: 'filled' });
    },
  },

  'snapshot-import': {
    once: async () => {
      await putObject(
        'snapshot-settings.json',
        JSON.stringify({ roles: rolesOfSis, maxRemovalsPercent: 100 }),
      );
      await putObject('snapshots/first.zip', await zipOf(entriesOfSis(smallSis())));
      expect(await invoke('snapshot-import', { key: 'snapshots/first.zip' })).toMatchObject({
        outcome: 'accepted',
      });
    },
    otherwise: async () => {
      const sis = smallSis();
      const [essay = {}, ...others] = sis.lineItems;
      const changed = { lineItems: [{ ...essay, title: 'Report' }, ...others] };
      const next = { ...sis, ...changed, enrollments: sis.enrollments.slice(1) };
      // An operator has accepted a name that passed, to another record than people here.
      const names = [{ ...passedName, record: 'u-9' }];
      await putObject(
        `${acceptedNamesPrefix}one.json`,
        JSON.stringify({ field: 'userName', names, by: 'lee', at: 'now' }),
      );
      const { VersionId: versionId } = await putObject(
        'snapshots/second.zip',
        await zipOf(entriesOfSis(next)),
      );
      expect(await invoke('snapshot-import', { key: 'snapshots/second.zip', versionId })).toMatchObject({
        outcome: 'accepted',
      });
      // A table may have messages for each integration; the mapping is read by their schemas.
      const queued = Object.keys(deployed.stack.description.queues);
      const messages = queued.map(async (name) => {
        const { data } = JSON.parse(await exampleWithFiles(name));
        return { function: name, key: ['ID'], data: fixed(data) };
      });
      const unasked = { maxRemovalsPercent: 100, maxChangesPercent: 100 };
      await putObject(
        'snapshot-settings.json',
        JSON.stringify({ roles: rolesOfSis, functions: queued, ...unasked }),
      );
      // What names one thing in two ways is looked up in what the crosswalk was filled with.
      const bySis = {
        orgUnitCode: { value: 'BIO-101' },
        userName: { value: 'lee.learner' },
        roleId: { value: 110 },
      };
      const named = { function: 'enrollment-create', key: ['ID'], data: bySis };
      const mapping = { messages: [...(await Promise.all(messages)), named] };
      await putObject('snapshot-mapping.json', JSON.stringify(mapping));
      await putObject('snapshots/all.csv', 'ID,NOTE\n1,\n');
      expect(await invoke('snapshot-import', { key: 'snapshots/all.csv' })).toMatchObject({
        outcome: 'accepted',
        message: `${queued.length + 1} events were sent.`,
      });
      // It has no rows: when somebody has approved it, it goes on in another invocation.
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      await putObject('snapshots/all.csv', 'ID,NOTE\n');
      const importing = invoke('snapshot-import', { key: 'snapshots/all.csv' });
      await approveNewest();
      expect(await importing).toMatchObject({
        outcome: 'accepted',
        message: expect.stringMatching(/^0 events were sent\./),
      });
      // What has rows ends by a decision alone.
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      await putObject('snapshots/all.csv', 'ID,NOTE\n2,\n');
      expect(await invoke('snapshot-import', { key: 'snapshots/all.csv' })).toMatchObject({
        outcome: 'accepted',
      });
      // One of before waits, until a later one takes its place.
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      await putObject('snapshots/all.csv', 'ID,NOTE\n1,\n');
      const held = invoke('snapshot-import', { key: 'snapshots/all.csv' });
      await newestWaits();
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      await putObject('snapshots/all.csv', 'ID,NOTE\n3,\n');
      expect(await invoke('snapshot-import', { key: 'snapshots/all.csv' })).toMatchObject({
        outcome: 'accepted',
      });
      expect(await held).toMatchObject({ outcome: 'superseded' });
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      const ending = invoke('snapshot-import', { end: 'all.csv' });
      await approveNewest();
      expect(await ending).toMatchObject({ outcome: 'accepted' });
    },
  },

  reconcile: {
    once: async () => {
      expect(await invoke('reconcile')).toMatchObject({ state: 'whole' });
    },
    otherwise: async () => {
      const controls = controlsOf(deployed.stack.description);
      const { resources, restore } = await writeWhatWillBeLost();
      // What was written just now is presumed done.
      const settled = { QUEUE_VISIBILITY_SECONDS: '1', QUEUE_BACKLOG_SECONDS: '1' };
      await deployed.lambda.recycle('reconcile', { ...deployed.functions.reconcile?.env, ...settled });
      await new Promise((resolve) => setTimeout(resolve, 2_100));
      await restore();
      expect(await lostOn(controls)).toHaveLength(resources.length);
      // It goes on in another invocation.
      await controls.fault({ status: 503 }, { path: '/(grades|classlist)/' });
      const compared = { state: 'whole', findings: expect.toSatisfy((count: number) => count > 0) };
      expect(await invoke('reconcile')).toMatchObject(compared);
      const report = (await invoke('reconcile', { whole: true })) as Report;
      expect(report).toMatchObject({
        ...compared,
        snapshots: expect.arrayContaining(Object.values(snapshotIds)),
      });
      const findings = (await findingsOf(report)).filter(({ resource }) => resources.includes(resource));
      const decision = decisionOn(findings, { by: 'jane', why: 'a restore lost them' });
      await putObject(resendKey(report.id), JSON.stringify(decision));
      expect(await invoke('reconcile', { resend: report.id })).toMatchObject({
        outcomes: { sent: resources.length },
      });
      await eventually(async () => expect(await lostOn(controls)).toEqual([]));
    },
  },

  'dead-letter-replay': {
    once: async () => {
      await invoke('dead-letter-replay');
    },
    otherwise: async () => {
      await sendLetter('grade-push', 'rejected');
      // The entry of a letter that is in the queue no longer.
      const { dynamodb, deskTable } = deployed.stack.description;
      const desk = {
        dynamodb: createQuickDynamoDb(localClient(dynamodb)),
        table: deskTable,
        nowMs: Date.now,
      };
      const facts = { function: 'grade-push', kind: 'rejected', atMs: Date.now() - 3_600_000 };
      await writeRecord(desk, 'gone', { state: 'letter', facts });
      // It counts what people must decide.
      await putObject(reassignedKey, JSON.stringify(passedNames));
      for (const prefix of [acceptedNamesPrefix, unacceptedPrefix])
        await putObject(`${prefix}none.json`, '{}');
      await invoke('dead-letter-replay');
      await putObject(reassignedKey, JSON.stringify({ ...passedNames, names: [] }));
      const request = {
        filter: { kind: ['rejected'] },
        canary: 0,
        canaryWait: 1,
        reason: 'the platform is back',
      };
      expect(await invoke('dead-letter-replay', request)).toMatchObject({ counts: { sent: 1 } });
    },
  },
};

const rolesOfSis = { student: 110, teacher: 109 };

/** Of the zip and of the table that were accepted last. */
const snapshotIds = { zip: '20261123T020000Z-0a1b2c3e', table: '20261123T020000Z-0a1b2c3f' };

/** Learners of their own, so that nothing else is in their way: one is enrolled and graded, and the other leaves. */
const [stays, leaves] = [304, 305];
const ofThem = { orgUnitId: 2001, roleId: 110 };

/** What two snapshots say, and a removal, which the ledger alone tells of; `restore` brings back what was there before. */
async function writeWhatWillBeLost() {
  const controls = controlsOf(deployed.stack.description);
  const before = { ...ofThem, userId: leaves };
  await controls.seed({ users: [{ userId: stays }, { userId: leaves }], enrollments: [before] });
  const users = { 'grade-push': stays, 'enrollment-create': stays, 'enrollment-remove': leaves };
  const said: Record<string, object> = {};
  for (const [name, userId] of Object.entries(users)) {
    const event = JSON.parse(await exampleWithFiles(name));
    const message = { ...event, id: randomUUID(), time: new Date().toISOString() };
    message.data = { ...event.data, orgUnitId: ofThem.orgUnitId, userId };
    const sent = await deployed.send(name, JSON.stringify(message));
    expect(await sent.ends(), name).toMatchObject({ outcome: 'done' });
    const { orgUnitId: _, userId: __, ...others } = message.data;
    said[name] = { ...others, ...namesOfThem };
  }
  await acceptSnapshots(said);
  const { gradeObjectId } = said['grade-push'] as { gradeObjectId: number };
  return {
    resources: [
      `grade/${ofThem.orgUnitId}/${gradeObjectId}/${stays}`,
      ...[stays, leaves].map((userId) => `enrollment/${ofThem.orgUnitId}/${userId}`),
    ],
    restore: async () => {
      await controls.remove({
        gradeValues: [{ gradeObjectId, userId: stays }],
        enrollments: [{ orgUnitId: ofThem.orgUnitId, userId: stays }],
      });
      await controls.seed({ enrollments: [before] });
    },
  };
}

const namesOfThem = { orgUnitCode: 'COMPARED', userName: 'compared.learner' };

/** The crosswalk knows whom they are about; whether a code that has moved was accepted, its table tells. */
async function acceptSnapshots(said: Record<string, object>): Promise<void> {
  const { orgUnitCode, userName } = namesOfThem;
  await putObject(
    ...filled('orgUnitCode', [
      [orgUnitCode, ofThem.orgUnitId],
      ['MOVED', 9_002, 9_001],
    ]),
  );
  await putObject(...filled('userName', [[userName, stays]]));
  const { zip, table: tableId } = snapshotIds;
  const accepted = { number: 1, columns: {}, holds: 'tables' };
  const byName = JSON.stringify(['classCode', 'userName', 'username']);
  const byMapping = JSON.stringify([['grade-push', 'ID']]);
  await putState(zip, enrollmentRows({ ...namesOfThem, roleId: ofThem.roleId }));
  await putState(tableId, [tableRow(said['grade-push'] ?? {})]);
  await putObject(acceptedKeyOf('oneroster'), JSON.stringify({ ...accepted, id: zip, by: byName }));
  const ofTable = JSON.stringify({ ...accepted, id: tableId, by: byMapping });
  await putObject(acceptedKeyOf('grades.csv'), ofTable);
}

const putState = async (id: string, rows: StateRow[]) => putObject(stateKey(id), await stateFile(rows));

async function findingsOf({ id, parts }: Report): Promise<Finding[]> {
  const keys = Array.from({ length: parts }, (_, at) => findingsKey(id, at + 1));
  const texts = await Promise.all(keys.map(getObject));
  return texts.flatMap((text) => text.split('\n').filter(Boolean)).map((line) => JSON.parse(line));
}

/** What of it is not there as the SIS has said it. */
async function lostOn(controls: Controls): Promise<string[]> {
  const { gradeValues = [], enrollments = [] } = await controls.state('gradeValues', 'enrollments');
  const isEnrolled = (id: number) =>
    enrollments.some(({ orgUnitId, userId }) => orgUnitId === ofThem.orgUnitId && userId === id);
  const isThere = {
    'the grade': gradeValues.some(({ userId }) => userId === stays),
    'the enrollment': isEnrolled(stays),
    'the removal': !isEnrolled(leaves),
  };
  return Object.entries(isThere).flatMap(([what, is]) => (is ? [] : [what]));
}

/** What a person does by the command `snapshots approve`. */
/** Until a person decides on the newest snapshot; answers by which callback. */
async function newestWaits(): Promise<string | undefined> {
  const s3 = new S3Client({ ...localClient(deployed.stack.description.s3), forcePathStyle: true });
  const newest = async (): Promise<SnapshotRecord> => {
    const list = new ListObjectsV2Command({ Bucket: bucket(), Prefix: 'snapshot-records/2' });
    const { Contents = [] } = await s3.send(list);
    const Key = Contents.findLast(({ Key }) => Key?.endsWith('/record.json'))?.Key;
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket(), Key }));
    return JSON.parse((await Body?.transformToString()) ?? '');
  };
  await eventually(async () => expect((await newest()).state).toBe('waiting-for-approval'));
  // Until then the invocation that asks would go on by itself.
  const isAtWork = () => deployed.lambda.containers('snapshot-import').some(({ busy }) => busy);
  await eventually(async () => expect(isAtWork()).toBe(false));
  const { callbackId } = await newest();
  s3.destroy();
  return callbackId;
}

async function approveNewest(): Promise<void> {
  const CallbackId = await newestWaits();
  const lambda = new LambdaClient(localClient(deployed.stack.description.lambda));
  const decision = { by: 'jane', at: new Date().toISOString(), decision: 'approved' };
  const Result = Buffer.from(JSON.stringify(decision));
  await lambda.send(new SendDurableExecutionCallbackSuccessCommand({ CallbackId, Result }));
  lambda.destroy();
}

/** The data of a message, as a mapping gives values that no column has. */
const fixed = (data: unknown, path = ''): Record<string, { value: unknown }> =>
  typeof data === 'object' && data !== null
    ? Object.assign(
        {},
        ...Object.entries(data).map(([name, each]) => fixed(each, path === '' ? name : `${path}.${name}`)),
      )
    : { [path]: { value: data } };

async function sendLetter(name: string, kind: Failure['kind']): Promise<void> {
  const at = new Date().toISOString();
  const failure = { kind, message: 'a failure', remedy: 'none', function: name };
  const letter = sqsMessageOf({
    body: laterThan(await exampleWithFiles(name)),
    replays: 0,
    attributes: {},
    source: deployment.arnOf(`${name.replaceAll('-', '')}Queue`),
    failure: { ...failure, attempts: 9, firstAt: at, lastAt: at },
  });
  const QueueUrl = deployed.stack.description.deadLetters;
  await deployed.stack.sqs.send(new SendMessageCommand({ QueueUrl, ...letter }));
}

type CallsOfVerbs = Partial<Record<CommandName | 'console', AwsCall[]>>;

const statementsOfPolicy = (role: Role) =>
  deployment
    .ofType('AWS::IAM::ManagedPolicy')
    .filter(({ id }) => id === policyIds[role])
    .flatMap(({ PolicyDocument }) => statementsOf(PolicyDocument));

/** Of a table with a row for each enrollment. */
const enrollmentMapping = {
  messages: [
    {
      function: 'enrollment-create',
      key: ['ID'],
      data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { value: 110 } },
    },
  ],
};

/** A user name that passed to another record of the SIS, as the import tells it. */
const passedName = {
  name: 'lee.learner',
  userId: 301,
  record: 'u-2',
  sinceMs: 0,
  enrollments: 1,
  results: 0,
};
const passedNames = { field: 'userName', names: [{ ...passedName, courses: ['BIO-101'] }] };

/** Calls whose refusal a verb survives, and says so: desk-roles.test.ts tries it. */
const doneWithout: Partial<Record<CommandName | 'console', RegExp>> = {
  status: /^secretsmanager:GetSecretValue on .*\/service-/,
  // By what it may not write, it learns the role of its user.
  console:
    /^secretsmanager:GetSecretValue on .*\/service-|^s3:PutObject on .*\/audit\/check-(?:operator|lead)\.json$/,
  'snapshots show': /^s3:GetObject on .*\/changes\.jsonl\.gz$/,
};

/** The calls of a verb that the policies of a role and those below it do not allow. */
function refusedTo(role: Role, calls: CallsOfVerbs, verb: CommandName | 'console'): AwsCall[] {
  const statements = roles.slice(0, roles.indexOf(role) + 1).flatMap(statementsOfPolicy);
  const optional = doneWithout[verb];
  return (calls[verb] ?? []).filter(
    (call) => coverOf(call, statements).length === 0 && !optional?.test(`${call.action} on ${call.resource}`),
  );
}

/** Each command as a lead gives it on AWS, and what it calls there. */
async function operate(): Promise<CallsOfVerbs> {
  const recorder = await recordAwsCalls(deployed.stack.description);
  const stacks = await startStackServer({
    'sis-relay-local': { FilesBucket: bucket(), PlatformUrl: deployed.stack.description.platform },
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
  const folder = temporaryFolder();
  await controlsOf(deployed.stack.description).secret('sis-relay/local/service', {
    type: 'id-key',
    appId: 'local-app',
    appKey: 'local-app-key',
    userId: '100',
    userKey: 'local-key-100',
  });
  let out = '';
  const print = (text: string) => {
    out += text;
  };
  const terminal = { ...quietTerminal, out: print, err: print };
  const calls: CallsOfVerbs = {};
  /** Does something, and writes down what it calls. */
  const as = async <Value>(verb: CommandName | 'console', work: () => Promise<Value>): Promise<Value> => {
    const [before, asked] = [recorder.calls.length, stacks.asked.length];
    const value = await work();
    const described = stacks.asked.slice(asked).map(callOfStack);
    calls[verb] = [...(calls[verb] ?? []), ...recorder.calls.slice(before), ...described];
    return value;
  };
  const ended = async (status: number, line: string, reason: string[] = []) => {
    out = '';
    const work = () => run([...line.split(' '), ...reason], terminal);
    expect(await as(verbIn(line), work), `${line}\n${out}`).toBe(status);
    return out;
  };
  const command = (line: string, ...reason: string[]) => ended(0, line, reason);
  try {
    await command('publish events/enrollment-create.json');
    await command('status');
    await command('pause grade-push', '--reason', 'the platform moves');
    await command('resume grade-push');
    await command('crosswalk show --code BIO-101');
    await putObject(reassignedKey, JSON.stringify(passedNames));
    await putObject(`${acceptedNamesPrefix}none.json`, '{}');
    await command('crosswalk moved');
    await command('crosswalk accept BIO-101 --yes');
    await command('crosswalk accept lee.learner --yes');
    await putObject(reassignedKey, JSON.stringify({ ...passedNames, names: [] }));
    await command('letters groups');
    await decide(command);
    // The platform has no code of these: they are held, which is no success.
    expect(await ended(1, 'crosswalk fill')).toContain('would change');
    await command('reconcile show');
    await command(`reconcile report --html ${join(folder, 'report.html')}`);
    const waiting = await messageThatWaits();
    await eventually(() => command('waiting --kind unavailable'));
    await command('waiting wake --kind unavailable --yes');
    await command(`trace ${waiting.id.slice(0, 13)} --log`);
    await sendLetter('submission-upload', 'missing-credential');
    await command('letters reindex');
    const found = await command('letters list --json --kind missing-credential');
    const [{ id }] = JSON.parse(found).letters;
    await command(`letters show ${id}`);
    await command(`letters show ${id} --reveal`, '--reason', 'a look');
    await command(`letters export --to ${join(folder, 'letters.jsonl')}`, '--reason', 'kept for longer');
    const edited = await command(
      `letters edit ${id} --set data.comment=mended --yes --wait 1`,
      '--reason',
      'a mistake',
    );
    await sendLetter('submission-upload', 'missing-credential');
    await command('letters reindex');
    await command('letters replay --kind missing-credential --yes --canary 0', '--reason', 'it is there now');
    await sendLetter('submission-upload', 'uncertain');
    await command('letters reindex');
    // Letters are left.
    await ended(1, 'letters verify');
    await as('console', lookAround);
    const discarded = await command('letters discard --kind invalid --yes', '--reason', 'not ours');
    // One who has a secret already, and one who has none.
    for (const userId of [301, 302]) {
      const address = `https://localhost/done?x_a=${userId}&x_b=local-key-${userId}`;
      const file = join(folder, `${userId}.txt`);
      await writeFile(file, address);
      await command(`auth-url --callback https://localhost/done --returned ${file} --yes`);
    }
    for (const said of [discarded, edited])
      await command(`letters import ${/s3:\S+(?:\.jsonl|\/(?=\s))/.exec(said)?.[0]} --yes`);
    await command('snapshots end oneroster --yes', '--reason', 'the term is over');
    const snapshot = await putSnapshot();
    await command('snapshots list');
    await command(`snapshots show ${snapshot}`);
    // It waits no longer: that is refused after the call.
    await ended(1, `snapshots approve ${snapshot} --yes`);
    await ended(1, `snapshots reject ${snapshot} --yes`, ['--reason', 'a mistake']);
    await writeFile(join(folder, 'tonight.zip'), await zipOf(entriesOfSis(smallSis())));
    await command(`snapshots diff ${join(folder, 'tonight.zip')}`);
    await command(`snapshots put ${join(folder, 'tonight.zip')} --yes`);
    const deciding = { 'snapshot-settings.json': { roles: rolesOfSis }, 'mapping.json': enrollmentMapping };
    for (const [name, content] of Object.entries(deciding))
      await writeFile(join(folder, name), JSON.stringify(content));
    await command(`snapshots put ${join(folder, 'snapshot-settings.json')} --yes`);
    await command(`snapshots put ${join(folder, 'mapping.json')} --mapping-of all --yes`);
    await command('log');
    // A letter that somebody else takes away is taken from the lists.
    await command('letters reindex');
    await deployed.stack.sqs.send(
      new PurgeQueueCommand({ QueueUrl: deployed.stack.description.deadLetters }),
    );
    await command('letters reindex');
  } finally {
    vi.unstubAllEnvs();
    await recorder.close();
    await stacks.close();
  }
  return calls;
}

/** `letters show` of `letters show 1f2e3d4c`. */
const verbIn = (line: string): CommandName => {
  const [first = '', second = ''] = line.split(' ');
  const verb = [`${first} ${second}`, first, `${first} list`].find(isCommandName);
  if (verb === undefined) throw new Error(`Nobody knows who may do ${line}`);
  return line.endsWith('--reveal') && verb === 'letters show' ? 'letters show --reveal' : verb;
};

const callOfStack = (asked: string): AwsCall => {
  const [operation, name] = asked.split(' ');
  const resource = `arn:aws:cloudformation:us-east-1:000000000000:stack/${name}/an-id`;
  return { action: `cloudformation:${operation}`, resource };
};

/** Of what a comparison of theirs has found, operators have a removal sent again, and accept all else. */
async function decide(command: (line: string, ...reason: string[]) => Promise<string>): Promise<void> {
  const { executions, description } = deployed.stack;
  executions.serve(async (name, event, execution) => {
    // Whoever waits for what comes of a resend asks meanwhile whether it goes on.
    if (execution?.startsWith('resend-')) await new Promise((resolve) => setTimeout(resolve, 6_000));
    return deployed.lambda.invoke(name, event, execution);
  });
  await controlsOf(description).seed({ enrollments: [{ ...ofThem, userId: leaves }] });
  const [, id = ''] = /Run (\S+) has started/.exec(await command('reconcile run --no-wait')) ?? [];
  const report = await eventually(async () => {
    const failure = JSON.parse(await getObject(runReportKey(id))) as Report;
    expect(failure.state).toBe('whole');
    return failure;
  });
  const resource = `enrollment/${ofThem.orgUnitId}/${leaves}`;
  await command(`reconcile resend ${resource} --run ${id} --yes`, '--reason', 'it came back');
  const resources = new Set((await findingsOf(report)).map((finding) => finding.resource));
  await command(`reconcile accept ${[...resources].join(' ')} --yes`, '--reason', 'the platform is right');
}

/** A snapshot that waits for approval, as its import would record it. */
async function putSnapshot(): Promise<string> {
  const id = '20261123T020000Z-0a1b2c3d';
  const executionArn = `arn:aws:lambda:us-east-1:000000000000:function:sis-relay-local-snapshot-import:1/durable-execution/a/b`;
  const counts = { created: 0, updated: 0, removed: 9, unchanged: 1, refused: 1 };
  const record: SnapshotRecord = {
    id,
    key: 'snapshots/a.zip',
    state: 'waiting-for-approval',
    counts,
    byKind: {},
    sent: 0,
    of: 9,
    droppedAt: '2026-11-23T02:00:00Z',
    startedAt: '2026-11-23T02:00:01Z',
    callbackId: Buffer.from(JSON.stringify({ executionArn })).toString('base64'),
  };
  await putObject(recordKey(id), JSON.stringify(record));
  await putObject(reportKey(id), 'file,line,column,problem\nusers.csv,2,username,is empty\n');
  // One that waits behind it, or waited.
  const waits = { execution: executionArn, is: 'waiting', putAt: record.droppedAt, seenAt: record.droppedAt };
  const file = { key: 'snapshots/b.zip', etag: '', sizeBytes: 1 };
  await putObject(`${unacceptedPrefix}b.json`, JSON.stringify({ ...waits, ...file }));
  return id;
}

/** The screens of the console that read more than the commands do. */
async function lookAround(): Promise<void> {
  const served = await openConsole(targetFrom({ readStack }));
  for (const path of ['/', '/trends', '/log', '/trace?user=301']) {
    const { status, text } = await served.get(path);
    expect(status, text).toBe(200);
  }
  await served.close();
}

/** A message that waits for a minute, unless it is woken. */
async function messageThatWaits() {
  const controls = controlsOf(deployed.stack.description);
  const effect = { status: 503, headers: { 'Retry-After': '60' } };
  await controls.fault(effect, { path: 'enrollments', times: 1 });
  // Of a user of its own, so that nothing else is in its way.
  const body = (await exampleWithFiles('enrollment-create')).replace(/"userId": ?\d+/, '"userId":301');
  const sent = await deployed.send('enrollment-create', laterThan(body));
  await sent.waits();
  return sent;
}

/** The message of a function's example event, with its files where the deployed function may read them. */
async function exampleWithFiles(name: string): Promise<string> {
  return (await example(name)).replaceAll(
    's3://sis-relay-uploads/events/',
    `s3://${bucket()}/uploads/${name}/`,
  );
}

function laterThan(body: string, seconds = 1): string {
  const message = JSON.parse(body);
  const time = new Date(Date.parse(message.time) + seconds * 1000).toISOString();
  return JSON.stringify({ ...message, id: randomUUID(), time });
}

const bucket = (): string => deployment.arnOf('Files').split(':').at(-1) ?? '';

async function putFiles(): Promise<void> {
  await withS3((s3) => s3.send(new CreateBucketCommand({ Bucket: bucket() })));
  const VersioningConfiguration = { Status: 'Enabled' } as const;
  await withS3((s3) =>
    s3.send(new PutBucketVersioningCommand({ Bucket: bucket(), VersioningConfiguration })),
  );
  const folder = join(root, 'test/local/files');
  for (const file of await readdir(folder))
    for (const name of functionNames)
      await putObject(`uploads/${name}/${file}`, await readFile(join(folder, file)));
}

const getObject = async (Key: string): Promise<string> => {
  let text = '';
  await withS3(async (s3) => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket(), Key }));
    text = (await Body?.transformToString()) ?? '';
  });
  return text;
};

const putObject = (Key: string, Body: string | Buffer) =>
  withS3((s3) => s3.send(new PutObjectCommand({ Bucket: bucket(), Key, Body })));

async function withS3<Answer>(use: (s3: S3Client) => Promise<Answer>): Promise<Answer> {
  const s3 = new S3Client({ ...localClient(deployed.stack.description.s3), forcePathStyle: true });
  return use(s3).finally(() => s3.destroy());
}
