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

/** A waiting message has no copy elsewhere, and a letter may be the only copy of a message. */
const kept = { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' };
/** Can be rebuilt. */
const replaceable = { DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' };

const tlsOnly = (Action: string, Resource: unknown): Statement => ({
  Effect: 'Deny',
  Principal: '*',
  Action,
  Resource,
  Condition: { Bool: { 'aws:SecureTransport': 'false' } },
});

/** Everything that keeps messages, letters, files and state, and the topic of the alarms. */
export const storageResources = (options: Options, queued: string[]): Resources => ({
  ...Object.fromEntries(queued.flatMap((name) => queueWithPolicy(options, name))),
  DeadLetters: queue(options, { name: 'dead-letters', MaximumMessageSize: 1_048_576 }),
  DeadLettersPolicy: queuePolicy('DeadLetters', []),
  ...tables(options),
  // Grades have few values: a digest that anybody can compute would reveal them. A new key does no harm: messages then wait for each other
  // instead of looking, and reconcile knows this key and the previous one.
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
        // An entry of the audit log (audit/<year>/…) is written once: nobody may overwrite it, whatever their own policies allow.
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
  // Without KMS encryption: CloudWatch cannot publish to a topic with AWS' own key, and an alarm contains no personal data.
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
    // 16 KB less than DeadLetters accepts: a message always fits there together with its failure.
    MaximumMessageSize: 1_032_192,
    // For messages on which the function dies without a trace, and those of which no letter can be written: at the longest waits their
    // receipts end within 11 days, before the queue forgets them. A message that waits for a day is received 120 times.
    RedrivePolicy: { deadLetterTargetArn: arnOf('DeadLetters'), maxReceiveCount: 500 },
  });
  return [
    [id, made],
    [`${id}Policy`, queuePolicy(id, sendersTo(options, id))],
  ];
};

/** The accounts and roles that the parameters allow to send. */
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
            // The bucket by its name: a reference would be a circle, as the bucket needs this policy first.
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

/** The keys of each table; the local stack uses the same. */
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
    // Not `ledger`, which had another key: CloudFormation does not replace a table whose name stays.
    Ledger: {
      ...kept,
      ...table('ledger-by-resource', {
        ...{ ...tableKeys.ledger, TimeToLiveSpecification, DeletionProtectionEnabled: options.protected },
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      }),
    },
    // What operators see of letters and waiting messages. It can be rebuilt from the queues at any time.
    Desk: { ...replaceable, ...table('desk', { ...tableKeys.desk, TimeToLiveSpecification }) },
    // The crosswalk. It can be filled again from its sources at any time, except for accepted moves.
    Crosswalk: { ...replaceable, ...table('crosswalk', tableKeys.crosswalk) },
  };
};

const bucketName = ({ stage }: Options): string =>
  `sis-relay-${stage}-files-\${AWS::AccountId}-\${AWS::Region}`;

/** Days for which the objects in a folder of the bucket are kept; without a number, for ever. */
const folders: [id: string, prefix: string, days?: number][] = [
  // A message and then its letter can live 14 days each, and a replay must still find its file.
  ['uploads', 'uploads/', 35],
  ['events', 'events/', 35],
  ['refused-changes', 'change-poll/refused/', 400],
  ['course-exports', 'course-exports/', 90],
  ['snapshots', 'snapshots/', 90],
  // The last accepted snapshot is compared with the next, even after a summer.
  ['snapshot-records', 'snapshot-records/', 400],
  ['snapshot-executions', 'snapshot-records/executions/', 30],
  // Messages that SQS refuses as letters.
  ['letters', 'letters/', 400],
  ['executions', 'course-exports/executions/', 30],
  // The university's lists of ids, and the results of the last fill.
  ['crosswalk', 'crosswalk/'],
  ['crosswalk-state', 'crosswalk-state/'],
  ['fills', 'crosswalk-state/executions/', 15],
  // Findings and accepted findings are kept for an audit.
  ['reconcile', 'reconcile/', 400],
  ['comparisons', 'reconcile/executions/', 15],
  ['edited', 'edited/', 400],
  ['discarded', 'discarded/', 400],
];

const bucket = (options: Options, queued: string[]): Resource => {
  const { kmsKeyArn, eventNotices } = options;
  return {
    Type: 'AWS::S3::Bucket',
    // S3 checks at once whether it may notify the queues.
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
      // A user who may write the audit log cannot rewrite it: earlier versions of an object stay under audit/ for ever.
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
            // The bucket keeps versions: what the rule expires is deleted a day later.
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
