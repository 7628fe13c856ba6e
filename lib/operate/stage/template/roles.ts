import * as z from 'zod';
import type { Integration } from '../../../delivery/handle/integration.ts';
import { sisFields } from '../../../message/sis-ids.ts';
import {
  allow,
  arn,
  arnOf,
  deskLists,
  document,
  idOf,
  itemsOf,
  list,
  type Options,
  ofThisAccount,
  onFiles,
  queueOf,
  type Resources,
  ref,
  type Statement,
  useKey,
  withKeys,
} from './cloudformation.ts';

/** A file of functions/, by its declarations. */
export type Declared = {
  name: string;
  /** Whether it calls the platform. */
  calls: boolean;
  /** Whether it is a Lambda durable function. */
  durable: boolean;
  /** Undefined: no queue triggers it. */
  integration: Integration<unknown> | undefined;
};

export const roleOf = (name: string): string => `${idOf(name)}Role`;

/** Secrets Manager appends a hyphen and six characters to a secret's name. */
export const secrets = ({ stage }: Options) => {
  const secret = (name: string) => arn('secretsmanager', `secret:sis-relay/${stage}/${name}`);
  return {
    service: secret('service-??????'),
    users: secret('users/*'),
    changes: secret('changes-??????'),
    in: (folder: string) => secret(`${folder}/*`),
  };
};
export const allQueues = ({ stage }: Options) => arn('sqs', `sis-relay-${stage}-*`);
export const functionArn = ({ stage }: Options, rest: string) =>
  arn('lambda', `function:sis-relay-${stage}-${rest}`);
export const allLogs = ({ stage }: Options, name: string) =>
  arn('logs', `log-group:/aws/lambda/sis-relay-${stage}-${name}`);

/** A role for each function, with the rights that it declares, and one by which schedules start functions. */
export const roleResources = (options: Options, declared: Declared[], scheduled: string[]): Resources => ({
  ...Object.fromEntries(
    declared.map((each) => {
      const rights = [...common(options, each.name), ...rightsOf(options, each, declared)];
      return [roleOf(each.name), role('lambda.amazonaws.com', { name: each.name, rights })];
    }),
  ),
  // A durable function is called by its alias, and all others by their name.
  SchedulerRole: role('scheduler.amazonaws.com', {
    name: 'start',
    rights: declared
      .filter(({ name }) => scheduled.includes(name))
      .map(({ name, durable }) =>
        allow('lambda', 'InvokeFunction', functionArn(options, durable ? `${name}:durable` : name)),
      ),
    condition: ofThisAccount,
  }),
});

/**
 * One policy for all rights. Its name differs from those of the separate policies of earlier versions: CloudFormation deletes these by
 * name after it has written the role.
 */
const role = (
  Service: string,
  { name, rights, condition }: { name: string; rights: Statement[]; condition?: Statement['Condition'] },
) => ({
  Type: 'AWS::IAM::Role',
  Properties: {
    AssumeRolePolicyDocument: {
      Version: '2012-10-17',
      Statement: [
        {
          Effect: 'Allow',
          Principal: { Service },
          Action: 'sts:AssumeRole',
          ...(condition && { Condition: condition }),
        },
      ],
    },
    Policies: [{ PolicyName: name, PolicyDocument: document(rights) }],
  },
});

const common = (options: Options, name: string): Statement[] => [
  allow('logs', 'CreateLogStream PutLogEvents', {
    'Fn::Sub': `${allLogs(options, name)['Fn::Sub']}:*`,
  }),
  ...(options.tracing === 'Active' ? [allow('xray', 'PutTraceSegments PutTelemetryRecords', '*')] : []),
  // Lambda gives the function an address in the VPC.
  ...(itemsOf(options.subnetIds).length > 0
    ? [
        allow(
          'ec2',
          'CreateNetworkInterface DescribeNetworkInterfaces DescribeSubnets DeleteNetworkInterface AssignPrivateIpAddresses UnassignPrivateIpAddresses',
          '*',
        ),
      ]
    : []),
  ...useKey(options),
];

const rightsOf = (options: Options, declared: Declared, all: Declared[]): Statement[] => {
  const { name, calls, durable, integration } = declared;
  const { service, users } = secrets(options);
  const signs = integration?.actor === undefined ? service : users;
  return [
    ...(calls ? [allow('secretsmanager', 'GetSecretValue', signs)] : []),
    ...(durable ? beingCarriedOn(options, name) : []),
    // Its number of calls.
    ...(durable && calls ? [onLedger('UpdateItem', [`pace/${name}/*`])] : []),
    ...(integration ? rightsOfIntegration(options, integration) : (rightsOfOthers(options, all)[name] ?? [])),
  ];
};

const beingCarriedOn = (options: Options, name: string): Statement[] => [
  allow(
    'lambda',
    'CheckpointDurableExecution GetDurableExecutionState',
    functionArn(options, `${name}:*/durable-execution/*`),
  ),
  // Whether an earlier execution is still running.
  allow('lambda', 'ListDurableExecutionsByFunction', functionArn(options, name)),
];

const readLedgerKey = allow('secretsmanager', 'GetSecretValue', ref('LedgerKey'));
const lookUp = allow('dynamodb', 'BatchGetItem', arnOf('Crosswalk'));
const onLedger = (actions: string, keys: string[]): Statement =>
  allow('dynamodb', actions, arnOf('Ledger'), withKeys(keys));
const sendTo = (integrations: { name: string }[]): Statement =>
  allow(
    'sqs',
    'SendMessage',
    integrations.map(({ name }) => arnOf(queueOf(name))),
  );
const rightsOfIntegration = (options: Options, integration: Integration<unknown>): Statement[] => {
  const { name, changes } = integration;
  const queue = arnOf(queueOf(name));
  return [
    allow('sqs', 'ReceiveMessage DeleteMessage GetQueueAttributes ChangeMessageVisibility', queue),
    allow('sqs', 'SendMessage', arnOf('DeadLetters')),
    // Messages that it reads from files of events.
    allow('sqs', 'SendMessage', queue),
    onFiles('GetObject GetObjectVersion', [`events/${name}/*`]),
    // Messages that SQS refuses as letters.
    onFiles('PutObject', [`letters/${name}/*`]),
    onLedger(
      'GetItem PutItem UpdateItem',
      changes.map((kind) => `${kind}/*`),
    ),
    // What it waits for until a person acts, refused changes of the service's credential, and its number of calls.
    onLedger('UpdateItem', [`incident/${name}/*`, 'incident/service-credential', `pace/${name}/*`]),
    // The number of times it died of a message.
    onLedger('GetItem UpdateItem', [`receipt/${name}/*`]),
    // The lists of its letters and waiting messages.
    allow('dynamodb', 'BatchGetItem UpdateItem', arnOf('Desk')),
    ...(integration.files ? [onFiles('GetObject', [`uploads/${name}/*`])] : []),
    ...(integration.secrets === undefined
      ? []
      : [allow('secretsmanager', 'GetSecretValue', secrets(options).in(integration.secrets))]),
    ...(integration.effect ? [readLedgerKey] : []),
    ...(takesSisIds(integration) ? [lookUp] : []),
  ];
};

/** Whether messages may use the SIS' own ids. */
const takesSisIds = ({ data }: Integration<unknown>): boolean => {
  const schema = JSON.stringify(z.toJSONSchema(data, { io: 'input', unrepresentable: 'any' }));
  return sisFields.some(([platformField]) => schema.includes(`"${platformField}":`));
};

/** Rights of functions that no queue triggers. */
const rightsOfOthers = (options: Options, all: Declared[]): Record<string, Statement[]> => {
  const { service, users, changes } = secrets(options);
  const compared = all.flatMap(({ integration }) => (integration?.effect ? [integration] : []));
  const queued = all.flatMap(({ integration }) => integration ?? []);
  const readIncidents = onLedger('GetItem', ['incident/*']);
  return {
    'token-refresh': [
      allow('secretsmanager', 'GetSecretValue PutSecretValue UpdateSecretVersionStage', [service, users]),
      // The call returns names only, and IAM grants it for all secrets or none.
      allow('secretsmanager', 'ListSecrets', '*'),
    ],
    'connection-check': [readIncidents],
    'dead-letter-replay': [
      allow('sqs', 'ReceiveMessage DeleteMessage ChangeMessageVisibility', arnOf('DeadLetters')),
      allow('sqs', 'GetQueueUrl GetQueueAttributes SendMessage', allQueues(options)),
      onFiles('PutObject', ['audit/*']),
      onFiles('GetObject', ['letters/*']),
      // It keeps the desk's lists correct.
      allow('dynamodb', 'BatchGetItem BatchWriteItem UpdateItem DeleteItem', arnOf('Desk')),
      allow('dynamodb', 'Query', deskLists),
      // Which functions are paused, and since when.
      onLedger('GetItem', ['paused/*']),
      readIncidents,
    ],
    'change-poll': [
      onFiles('GetObject', ['change-poll/mapping.json']),
      onFiles('PutObject', ['change-poll/refused/*']),
      allow('sqs', 'SendMessage', allQueues(options)),
      allow('secretsmanager', 'GetSecretValue', changes),
      // The position up to which changes were sent.
      onLedger('GetItem UpdateItem', ['changes/*']),
    ],
    'course-export': [
      onFiles('PutObject AbortMultipartUpload', ['course-exports/*']),
      // Results of an execution that are too large for its records.
      onFiles('GetObject', ['course-exports/executions/*']),
    ],
    'crosswalk-fill': [
      allow('dynamodb', 'GetItem BatchGetItem BatchWriteItem UpdateItem', arnOf('Crosswalk')),
      // The university's files, and whether they exist.
      onFiles('GetObject', ['crosswalk/*.csv', 'crosswalk-state/*']),
      list(['crosswalk/*', 'crosswalk-state/*']),
      onFiles('PutObject', ['crosswalk/report.csv', 'crosswalk-state/*']),
    ],
    'snapshot-import': [
      // `crosswalk-state/filled/*`: decides what a name stands for if a table has two entries for one person.
      onFiles('GetObject', [
        ...['snapshots/*', 'snapshot-mapping*', 'snapshot-settings.json'],
        'crosswalk-state/filled/*',
      ]),
      onFiles('GetObject PutObject', ['snapshot-records/*']),
      list([
        ...['snapshots/*', 'snapshot-records/*', 'snapshot-mapping*', 'snapshot-settings.json'],
        'crosswalk-state/filled/*',
      ]),
      // A mapping may name the functions that the settings name.
      sendTo(queued),
    ],
    reconcile: [
      readLedgerKey,
      lookUp,
      // A scan has no leading keys that a condition could name. The function ignores items of other resources.
      allow('dynamodb', 'Scan', arnOf('Ledger')),
      // Whether a difference was written again meanwhile.
      onLedger(
        'GetItem',
        [...new Set(compared.flatMap((each) => each.changes))].map((kind) => `${kind}/*`),
      ),
      onFiles('GetObject PutObject', ['reconcile/*']),
      // The last snapshots of the SIS, and the crosswalk.
      onFiles('GetObject', ['snapshot-records/*', 'crosswalk-state/filled/*']),
      list(['reconcile/*', 'snapshot-records/*', 'crosswalk-state/filled/*']),
      // Messages that operators have it send again.
      sendTo(compared),
    ],
  };
};
