import {
  allow,
  arnOf,
  document,
  files,
  itemsOf,
  type Options,
  ofThisAccount,
  queueOf,
  type Resource,
  type Resources,
  ref,
  type Statement,
  sub,
} from './cloudformation.ts';

const days = 24 * 3600;

/** A message that waits has no copy elsewhere, and a letter may be all that is left of one. */
const kept = { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' };
/** What can be made anew. */
const replaceable = { DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' };

const tlsOnly = (Action: string, Resource: unknown): Statement => ({
  Effect: 'Deny',
  Principal: '*',
  Action,
  Resource,
  Condition: { Bool: { 'aws:SecureTransport': 'false' } },
});

/** All that keeps messages, letters, files and state, and the topic of the alarms. */
export const storageResources = (options: Options, queued: string[]): Resources => ({
  ...Object.fromEntries(queued.flatMap((name) => queueWithPolicy(options, name))),
  DeadLetters: queue(options, { name: 'dead-letters', MaximumMessageSize: 1_048_576 }),
  DeadLettersPolicy: queuePolicy('DeadLetters', []),
  ...tables(options),
  // Grades have few values: with a digest that anybody can compute, the ledger would tell them. Another key does no harm: messages
  // then wait for each other instead of looking, and reconcile knows both, this one and the one before it.
  LedgerKey: {
    Type: 'AWS::SecretsManager::Secret',
    Properties: {
      Description: `Keys the digests in the ledger of sis-relay, ${options.stage}`,
      GenerateSecretString: { PasswordLength: 64, ExcludePunctuation: true },
    },
  },
  Files: bucket(options, queued),
  FilesPolicy: {
    Type: 'AWS::S3::BucketPolicy',
    Properties: {
      Bucket: ref('Files'),
      PolicyDocument: document([
        tlsOnly('s3:*', [arnOf('Files'), files('*')]),
        // An entry of the audit log (audit/<year>/…) is written once: nobody may write over it, whatever their own policies say.
        {
          Effect: 'Deny',
          Principal: '*',
          Action: 's3:PutObject',
          Resource: files('audit/2*'),
          Condition: { Null: { 's3:if-none-match': true } },
        },
      ]),
    },
  },
  // Without encryption by KMS: CloudWatch cannot publish where the key is AWS' own, and an alarm holds no data of anybody.
  Alarms: {
    Type: 'AWS::SNS::Topic',
    Properties: {
      TopicName: `sis-relay-${options.stage}-alarms`,
      Subscription: [{ Protocol: 'email', Endpoint: options.alarmEmail }],
    },
  },
  AlarmsPolicy: {
    Type: 'AWS::SNS::TopicPolicy',
    Properties: {
      Topics: [ref('Alarms')],
      PolicyDocument: document([
        {
          ...allow('sns', 'Publish', ref('Alarms'), ofThisAccount),
          Principal: { Service: 'cloudwatch.amazonaws.com' },
        },
        tlsOnly('sns:Publish', ref('Alarms')),
      ]),
    },
  },
});

const queue = (
  { stage, kmsKeyArn }: Options,
  { name, ...more }: { name: string; [property: string]: unknown },
): Resource => ({
  Type: 'AWS::SQS::Queue',
  ...kept,
  Properties: {
    QueueName: `sis-relay-${stage}-${name}`,
    MessageRetentionPeriod: 14 * days,
    ...(kmsKeyArn === ''
      ? { SqsManagedSseEnabled: true }
      : { KmsMasterKeyId: kmsKeyArn, KmsDataKeyReusePeriodSeconds: 3600 }),
    ...more,
  },
});

const queuePolicy = (id: string, senders: Statement[]): Resource => ({
  Type: 'AWS::SQS::QueuePolicy',
  Properties: { Queues: [ref(id)], PolicyDocument: document([tlsOnly('sqs:*', arnOf(id)), ...senders]) },
});

const queueWithPolicy = (options: Options, name: string): [string, Resource][] => {
  const id = queueOf(name);
  const made = queue(options, {
    name,
    VisibilityTimeout: options.queueVisibilitySeconds,
    // 16 KB less than DeadLetters takes: a message always fits there together with why it failed.
    MaximumMessageSize: 1_032_192,
    // For messages on which the function dies unheard, and those of which no letter can be written: at the longest waits
    // their receipts end within 11 days, before the queue forgets them. One that waits for a day is received 120 times.
    RedrivePolicy: { deadLetterTargetArn: arnOf('DeadLetters'), maxReceiveCount: 500 },
  });
  return [
    [id, made],
    [`${id}Policy`, queuePolicy(id, sendersTo(options, id))],
  ];
};

/** Whom the parameters let send. */
const sendersTo = (options: Options, id: string): Statement[] => {
  const services: [string, string][] = [
    ['sns.amazonaws.com', options.producerTopics],
    ['events.amazonaws.com', options.producerRules],
  ];
  const accounts = itemsOf(options.producerAccounts);
  return [
    ...services
      .filter(([, arns]) => arns !== '')
      .map(([Service, arns]) => ({
        ...allow('sqs', 'SendMessage', arnOf(id), { ArnEquals: { 'aws:SourceArn': itemsOf(arns) } }),
        Principal: { Service },
      })),
    ...(accounts.length > 0
      ? [{ ...allow('sqs', 'GetQueueUrl SendMessage', arnOf(id)), Principal: { AWS: accounts } }]
      : []),
    ...(options.eventNotices
      ? [
          {
            // The bucket by its name, which it gets only when it may send.
            ...allow('sqs', 'SendMessage', arnOf(id), {
              ...ofThisAccount,
              ArnEquals: { 'aws:SourceArn': sub(`arn:\${AWS::Partition}:s3:::${bucketName(options)}`) },
            }),
            Principal: { Service: 's3.amazonaws.com' },
          },
        ]
      : []),
  ];
};

const keyed = (...[first = '', ...others]: string[]) => ({
  AttributeDefinitions: [first, ...others].map((AttributeName) => ({
    AttributeName,
    AttributeType: 'S' as const,
  })),
  KeySchema: [{ AttributeName: first, KeyType: 'HASH' as const }],
});

/** By what items are found; the local stack has the same. */
export const tableKeys = {
  ledger: keyed('resource'),
  crosswalk: keyed('bucket'),
  desk: {
    ...keyed('message', 'list', 'place'),
    GlobalSecondaryIndexes: [
      {
        IndexName: 'by-list',
        KeySchema: [
          { AttributeName: 'list', KeyType: 'HASH' as const },
          { AttributeName: 'place', KeyType: 'RANGE' as const },
        ],
        Projection: { ProjectionType: 'ALL' as const },
      },
    ],
  },
};

const tables = (options: Options): Resources => {
  const { stage, kmsKeyArn } = options;
  const table = (name: string, more: Record<string, unknown>) => ({
    Type: 'AWS::DynamoDB::Table',
    Properties: {
      ...{ TableName: `sis-relay-${stage}-${name}`, BillingMode: 'PAY_PER_REQUEST' },
      ...(kmsKeyArn !== '' && {
        SSESpecification: { SSEEnabled: true, SSEType: 'KMS', KMSMasterKeyId: kmsKeyArn },
      }),
      ...more,
    },
  });
  const TimeToLiveSpecification = { AttributeName: 'expires', Enabled: true };
  return {
    // Not `ledger`, which had another key: CloudFormation replaces no table whose name stays.
    Ledger: {
      ...kept,
      ...table('ledger-by-resource', {
        ...{ ...tableKeys.ledger, TimeToLiveSpecification, DeletionProtectionEnabled: options.protected },
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      }),
    },
    // What operators see of letters and of messages that wait. It can be made anew from the queues at any time.
    Desk: { ...replaceable, ...table('desk', { ...tableKeys.desk, TimeToLiveSpecification }) },
    // What the SIS' ids stand for. It can be filled anew from its sources at any time, but for the moves that were accepted.
    Crosswalk: { ...replaceable, ...table('crosswalk', tableKeys.crosswalk) },
  };
};

const bucketName = ({ stage }: Options): string =>
  `sis-relay-${stage}-files-\${AWS::AccountId}-\${AWS::Region}`;

/** For how many days what lies in a folder of the bucket is kept; for ever where no number is given. */
const folders: [id: string, prefix: string, days?: number][] = [
  // A message and then its letter can live 14 days each, and a replay must still find its file.
  ['uploads', 'uploads/', 35],
  ['events', 'events/', 35],
  ['refused-changes', 'change-poll/refused/', 400],
  ['course-exports', 'course-exports/', 90],
  ['snapshots', 'snapshots/', 90],
  // What was accepted last is compared with the next, be it after a summer.
  ['snapshot-records', 'snapshot-records/', 400],
  ['snapshot-executions', 'snapshot-records/executions/', 30],
  // Messages that SQS does not take as letters.
  ['letters', 'letters/', 400],
  ['executions', 'course-exports/executions/', 30],
  // The university's lists of ids, and what was filled by them last.
  ['crosswalk', 'crosswalk/'],
  ['crosswalk-state', 'crosswalk-state/'],
  ['fills', 'crosswalk-state/executions/', 15],
  // Findings, and what was accepted of them, are there for an audit.
  ['reconcile', 'reconcile/', 400],
  ['comparisons', 'reconcile/executions/', 15],
  ['edited', 'edited/', 400],
  ['discarded', 'discarded/', 400],
];

const bucket = (options: Options, queued: string[]): Resource => {
  const { kmsKeyArn, eventNotices } = options;
  return {
    Type: 'AWS::S3::Bucket',
    // S3 tries at once whether it may tell the queues.
    DependsOn: queued.map((name) => `${queueOf(name)}Policy`),
    ...kept,
    Properties: {
      BucketName: sub(bucketName(options)),
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          kmsKeyArn === ''
            ? { ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }
            : {
                BucketKeyEnabled: true,
                ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: kmsKeyArn },
              },
        ],
      },
      // So that nobody who may write the audit log can rewrite it: what an object was before stays, under audit/ for ever.
      VersioningConfiguration: { Status: 'Enabled' },
      NotificationConfiguration: {
        EventBridgeConfiguration: { EventBridgeEnabled: true },
        ...(eventNotices && {
          QueueConfigurations: queued.map((name) => ({
            Event: 's3:ObjectCreated:*',
            Filter: { S3Key: { Rules: [{ Name: 'prefix', Value: `events/${name}/` }] } },
            Queue: arnOf(queueOf(name)),
          })),
        }),
      },
      OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      LifecycleConfiguration: {
        Rules: [
          ...folders.map(([Id, Prefix, ExpirationInDays]) => ({
            ...{ Id, Prefix, Status: 'Enabled' },
            // What the rule takes away is gone the day after, though the bucket keeps versions.
            NoncurrentVersionExpiration: { NoncurrentDays: 1 },
            ...(ExpirationInDays !== undefined && { ExpirationInDays }),
          })),
          { Id: 'deletions', Status: 'Enabled', ExpiredObjectDeleteMarker: true },
          {
            Id: 'broken-uploads',
            Status: 'Enabled',
            AbortIncompleteMultipartUpload: { DaysAfterInitiation: 2 },
          },
        ],
      },
    },
  };
};
