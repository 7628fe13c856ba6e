import { beforeAll, describe, expect, test } from 'vitest';
import { type Packaged, packagedProject } from './packaged.ts';
import { brokenRules, rules } from './rules.ts';

let packaged: Packaged;
let broken: Record<string, string[]>;

beforeAll(async () => {
  packaged = await packagedProject();
  broken = await brokenRules(packaged.template);
});

describe('the packaged template', () => {
  test.each(Object.keys(rules))('%s', (title) => expect(broken[title] ?? []).toEqual([]));
});

// biome-ignore lint/suspicious/noExplicitAny: a breakage reaches into whatever it breaks.
type Parts = Record<string, any>;

const statements = (role: Parts): Parts[] => role.Policies[0].PolicyDocument.Statement;

/** Each is a mistake that somebody could make in serverless.yml: what is done to the properties, and the rule that notices. */
const mistakes: [title: string, make: (of: (id: string) => Parts, template: Parts) => void, rule: string][] = [
  [
    'a visibility timeout of a function’s timeout',
    (of) => (of('gradepushQueue').VisibilityTimeout = 120),
    'a queue hides a message for six times as long as its function may work on it',
  ],
  [
    'a queue without redrive',
    (of) => delete of('enrollmentcreateQueue').RedrivePolicy,
    'every queue moves what kills its function to DeadLetters, and not what only waits for a day',
  ],
  [
    'a redrive after ten receipts',
    (of) => (of('gradepushQueue').RedrivePolicy.maxReceiveCount = 10),
    'every queue moves what kills its function to DeadLetters, and not what only waits for a day',
  ],
  [
    'a wildcard for a resource',
    (of) => (statements(of('gradepushRole'))[1]!.Resource = '*'),
    'what is allowed is named, and is sis-relay’s own',
  ],
  [
    'a wildcard in an action',
    (of) => (statements(of('gradepushRole'))[1]!.Action = 'sqs:*'),
    'what is allowed is named, and is sis-relay’s own',
  ],
  [
    'a misspelt property',
    (of) => (of('Ledger').BilingMode = 'PAY_PER_REQUEST'),
    'CloudFormation takes it',
  ],
  [
    'a reference to what is not there',
    (of) => (of('gradepushOldest').AlarmActions = [{ Ref: 'Alarm' }]),
    'CloudFormation takes it',
  ],
  [
    'an action that IAM does not know',
    (of) => (statements(of('gradepushRole'))[1]!.Action = ['sqs:RecieveMessage']),
    'every action of IAM exists',
  ],
  [
    'a mapping that fails whole batches',
    (of) => delete of('GradeDashpushEventSourceMappingSQSGradepushQueue').FunctionResponseTypes,
    'every mapping reports single failures, batches, and bounds its concurrency',
  ],
  [
    'a mapping without a bound',
    (of) => delete of('GradeDashpushEventSourceMappingSQSGradepushQueue').ScalingConfig,
    'every mapping reports single failures, batches, and bounds its concurrency',
  ],
  [
    'a queue that can be reached without TLS',
    (_, { Resources }) => delete Resources.gradepushQueuePolicy,
    'queues, files and alarms are reached over TLS alone',
  ],
  [
    'a queue that is not encrypted',
    (of) => (of('DeadLetters').SqsManagedSseEnabled = false),
    'queues and buckets are encrypted, and buckets are private',
  ],
  [
    'a public bucket',
    (of) => (of('Files').PublicAccessBlockConfiguration.BlockPublicPolicy = false),
    'queues and buckets are encrypted, and buckets are private',
  ],
  [
    'a log that is kept for ever',
    (of) => delete of('GradeDashpushLogGroup').RetentionInDays,
    'every function writes to a log that is not kept for ever',
  ],
  [
    'letters that are forgotten after four days',
    (of) => delete of('DeadLetters').MessageRetentionPeriod,
    'every queue keeps its messages for 14 days',
  ],
  [
    'a queue that takes what no letter can hold',
    (of) => (of('gradepushQueue').MaximumMessageSize = 1_048_576),
    'a message fits into DeadLetters together with its failure',
  ],
  [
    'a queue that nobody watches',
    (_, { Resources }) => delete Resources.gradepushOldest,
    'every queue, function and kind of letter has its alarms, and each tells somebody',
  ],
  [
    'an alarm that tells nobody',
    (of) => (of('Lettersinvalid').AlarmActions = []),
    'every queue, function and kind of letter has its alarms, and each tells somebody',
  ],
  [
    'an alarm about a metric that nobody writes',
    (of) => (of('Lettersinvalid').MetricName = 'DeadLetters'),
    'every alarm and every graph is about a metric that there is',
  ],
  [
    'two functions that share a role',
    (of) => (of('GradeDashpushLambdaFunction').Role = { 'Fn::GetAtt': ['submissionuploadRole', 'Arn'] }),
    'every function has a role of its own, which Lambda alone assumes',
  ],
  [
    'a function that reads the letters of all',
    (of) => (statements(of('gradepushRole'))[2]!.Action = ['sqs:SendMessage', 'sqs:ReceiveMessage']),
    'no function but token-refresh writes a secret, and none but dead-letter-replay reads letters',
  ],
  [
    'a function that writes its secret',
    (of) =>
      (of('gradepushSignsAsService').PolicyDocument.Statement[0].Action = ['secretsmanager:PutSecretValue']),
    'no function but token-refresh writes a secret, and none but dead-letter-replay reads letters',
  ],
  [
    'a setting that nobody reads',
    (of) => (of('GradeDashpushLambdaFunction').Environment.Variables.PLATFORM_ADDRESS = 'https://example.edu'),
    'every function runs on Node 24 for arm64, with settings that it understands',
  ],
];

describe('is noticed:', () => {
  test.each(mistakes)('%s', async (_, make, rule) => {
    const template: Parts = structuredClone(packaged.template);
    make((id) => template.Resources[id].Properties, template);
    expect(Object.keys(await brokenRules(template as Packaged['template']))).toContain(rule);
  });
});
