import {
  arnOf,
  document,
  ofThisAccount,
  queueOf,
  type Resources,
  ref,
  sub,
  tlsOnly,
} from './cloudformation.ts';
import { bucketArn, objects } from './stage-arns.ts';
import type { TemplateOptions } from './stage-settings.ts';

/** What functions share. storage.ts adds the queues, and what encrypts. */
export const sharedResources = (options: TemplateOptions, queued: string[]): Resources => ({
  ...tables(options),
  // Grades have few values: a digest that anybody can compute would reveal them. A new key does no harm: messages then wait for each other
  // instead of looking, and comparisons know this key and the previous one. Without a name: CloudFormation would replace the key of a
  // stage that has one, and nothing that was digested before would be compared.
  LedgerKey: {
    Type: 'AWS::SecretsManager::Secret',
    Properties: {
      Description: `Keys the digests in the ledger of sis-relay, ${options.stage}`,
      GenerateSecretString: { PasswordLength: 64, ExcludePunctuation: true },
    },
  },
  ...files(options, queued),
  ...topics(options),
});

const tables = ({ stage, protected: isProtected }: TemplateOptions): Resources => ({
  Ledger: {
    Type: 'AWS::DynamoDB::Table',
    DeletionPolicy: 'RetainExceptOnCreate',
    UpdateReplacePolicy: 'Retain',
    Properties: {
      // Not `ledger`, which had another key: CloudFormation does not replace a table whose name stays.
      TableName: `sis-relay-${stage}-ledger-by-resource`,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: texts('resource'),
      KeySchema: [hash('resource')],
      TimeToLiveSpecification: expiry,
      DeletionProtectionEnabled: isProtected,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    },
  },
  // What operators see of letters and waiting messages. It can be rebuilt from the queues at any time.
  Desk: {
    Type: 'AWS::DynamoDB::Table',
    DeletionPolicy: 'Delete',
    UpdateReplacePolicy: 'Delete',
    Properties: {
      TableName: `sis-relay-${stage}-desk`,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: texts('message', 'list', 'place'),
      KeySchema: [hash('message')],
      GlobalSecondaryIndexes: [
        {
          IndexName: 'by-list',
          KeySchema: [hash('list'), { AttributeName: 'place', KeyType: 'RANGE' }],
          Projection: { ProjectionType: 'ALL' },
        },
      ],
      TimeToLiveSpecification: expiry,
    },
  },
  // It can be filled again from its sources at any time, except for accepted moves.
  Crosswalk: {
    Type: 'AWS::DynamoDB::Table',
    DeletionPolicy: 'Delete',
    UpdateReplacePolicy: 'Delete',
    Properties: {
      TableName: `sis-relay-${stage}-crosswalk`,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: texts('bucket'),
      KeySchema: [hash('bucket')],
    },
  },
});

const texts = (...names: string[]) => names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' }));
const hash = (AttributeName: string) => ({ AttributeName, KeyType: 'HASH' });
const expiry = { AttributeName: 'expires', Enabled: true };

/** With variables of CloudFormation. */
export const bucketName = ({ stage }: Pick<TemplateOptions, 'stage'>): string =>
  `sis-relay-${stage}-files-\${AWS::AccountId}-\${AWS::Region}`;

const files = (options: TemplateOptions, queued: string[]): Resources => ({
  Files: {
    Type: 'AWS::S3::Bucket',
    DeletionPolicy: 'RetainExceptOnCreate',
    UpdateReplacePolicy: 'Retain',
    Properties: {
      BucketName: sub(bucketName(options)),
      // A user who may write the audit log cannot rewrite it: earlier versions of an object stay under audit/ for ever.
      VersioningConfiguration: { Status: 'Enabled' },
      OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      LifecycleConfiguration: { Rules: lifecycleRules },
      NotificationConfiguration: {
        EventBridgeConfiguration: { EventBridgeEnabled: true },
        ...(options.eventNotices && { QueueConfigurations: queued.map(noticeTo) }),
      },
    },
    // S3 checks at once whether it may notify the queues.
    DependsOn: queued.map((name) => `${queueOf(name)}Policy`),
  },
  FilesPolicy: {
    Type: 'AWS::S3::BucketPolicy',
    Properties: {
      Bucket: ref('Files'),
      PolicyDocument: document([
        tlsOnly('s3:*', [bucketArn, ...objects('*')]),
        // An entry of the audit log (audit/<year>/…) and what a letter was before it was edited or discarded are written once: nobody may
        // overwrite them, whatever their own policies allow.
        {
          Effect: 'Deny',
          Principal: '*',
          Action: 's3:PutObject',
          Resource: objects('audit/2*', 'edited/*', 'discarded/*'),
          Condition: { Null: { 's3:if-none-match': true } },
        },
      ]),
    },
  },
});

const noticeTo = (name: string) => ({
  Event: 's3:ObjectCreated:*',
  Filter: { S3Key: { Rules: [{ Name: 'prefix', Value: `events/${name}/` }] } },
  Queue: arnOf(queueOf(name)),
});

/** The bucket keeps versions: what a rule expires is deleted a day later. */
const deleted = { NoncurrentDays: 1 };

const expiring = (Id: string, Prefix: string, ExpirationInDays: number) => ({
  Id,
  Prefix,
  ExpirationInDays,
  Status: 'Enabled',
  NoncurrentVersionExpiration: deleted,
});
const lasting = (Id: string, Prefix: string) => ({
  Id,
  Prefix,
  Status: 'Enabled',
  NoncurrentVersionExpiration: deleted,
});

/** Those of options are here, too: what an option has stored must expire after the option itself is deleted. */
const lifecycleRules = [
  // A message and then its letter can live 14 days each, and a replay must still find its file.
  expiring('uploads', 'uploads/', 35),
  expiring('events', 'events/', 35),
  expiring('refused-changes', 'change-poll/refused/', 400),
  // As long as the state of an export, with which it shares that it must outlast a summer. Each further notice begins the time anew.
  expiring('kept-removals', 'change-poll/removals/', 400),
  expiring('course-exports', 'course-exports/', 90),
  // A version that another one replaced may wait as long as an import may take: for the approvals of those before it.
  { ...expiring('snapshots', 'snapshots/', 90), NoncurrentVersionExpiration: { NoncurrentDays: 21 } },
  // The last accepted snapshot is compared with the next, even after a summer.
  expiring('snapshot-records', 'snapshot-records/', 400),
  expiring('snapshot-executions', 'snapshot-records/executions/', 30),
  // Messages that SQS refuses as letters.
  expiring('letters', 'letters/', 400),
  expiring('executions', 'course-exports/executions/', 30),
  // The university's lists of ids, and the results of the last fill, are kept for ever.
  lasting('crosswalk', 'crosswalk/'),
  lasting('crosswalk-state', 'crosswalk-state/'),
  expiring('fills', 'crosswalk-state/executions/', 15),
  // The import after an acceptance takes it.
  expiring('accepted-names', 'crosswalk-state/accepted-names/', 400),
  // Findings and accepted findings are kept for an audit.
  expiring('reconcile', 'reconcile/', 400),
  expiring('comparisons', 'reconcile/executions/', 15),
  expiring('edited', 'edited/', 400),
  expiring('discarded', 'discarded/', 400),
  { Id: 'deletions', Status: 'Enabled', ExpiredObjectDeleteMarker: true },
  { Id: 'broken-uploads', Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 2 } },
];

/** Without KMS encryption: CloudWatch cannot publish to a topic with AWS' own key, and an alarm contains no personal data. */
const topics = ({ stage, alarmEmail, alarmEmailLater }: TemplateOptions): Resources => ({
  ...topic('Alarms', `sis-relay-${stage}-alarms`, alarmEmail),
  ...(alarmEmailLater !== '' && topic('AlarmsLater', `sis-relay-${stage}-alarms-later`, alarmEmailLater)),
});

const topic = (id: string, TopicName: string, Endpoint: string): Resources => ({
  [id]: {
    Type: 'AWS::SNS::Topic',
    Properties: { TopicName, Subscription: [{ Protocol: 'email', Endpoint }] },
  },
  [`${id}Policy`]: {
    Type: 'AWS::SNS::TopicPolicy',
    Properties: {
      Topics: [ref(id)],
      PolicyDocument: document([
        {
          Effect: 'Allow',
          Principal: { Service: 'cloudwatch.amazonaws.com' },
          Action: ['sns:Publish'],
          Resource: ref(id),
          Condition: ofThisAccount,
        },
        tlsOnly('sns:Publish', ref(id)),
      ]),
    },
  },
});
