import { counted, countedAnew } from '../../stage/template/alarms.ts';
import { aliasOf, arnOf, ref } from '../../stage/template/cloudformation.ts';
import type { FunctionParts } from '../../stage/template/functions/function-parts.ts';
import type { Grant } from '../../stage/template/grant.ts';
import { bucketArn, objects, prefixes } from '../../stage/template/stage-arns.ts';
import { importSettings } from './import-settings.ts';

/** What was put, what waits, and what was accepted. */
const looked: Grant[] = [
  {
    Action: ['s3:GetObject'],
    Resource: objects(
      'snapshot-records/*/record.json',
      'snapshot-records/accepted*.json',
      'snapshot-records/unaccepted/*',
      // Which files come once.
      'snapshot-settings.json',
      // User names that passed to other records, which a person decides on, and what was decided.
      'snapshot-records/passed*',
      'crosswalk-state/accepted-names/*',
    ),
  },
  {
    Action: ['s3:ListBucket'],
    Resource: bucketArn,
    Condition: prefixes('snapshot-records/*', 'crosswalk-state/accepted-names/*'),
  },
];

export const deployedParts: FunctionParts = {
  function: 'snapshot-import',
  settings: importSettings,
  rights: ({ queues, executions }) => [
    { Action: ['s3:GetObjectVersion'], Resource: objects('snapshots/*') },
    // `crosswalk-state/filled/*`: decides what a name stands for if a table has two entries for one person.
    {
      Action: ['s3:GetObject'],
      Resource: objects(
        'snapshots/*',
        'snapshot-mapping*',
        'snapshot-settings.json',
        'crosswalk-state/filled/*',
      ),
    },
    // What operators have accepted of names that passed to other records.
    { Action: ['s3:GetObject'], Resource: objects('crosswalk-state/accepted-names/*') },
    { Action: ['s3:GetObject', 's3:PutObject'], Resource: objects('snapshot-records/*') },
    // What was put, until it is accepted, and what was accepted, until its feed is ended.
    {
      Action: ['s3:DeleteObject'],
      Resource: objects('snapshot-records/unaccepted/*', 'snapshot-records/accepted*'),
    },
    {
      Action: ['s3:ListBucket'],
      Resource: bucketArn,
      Condition: prefixes('snapshots/*', 'snapshot-records/*', 'snapshot-mapping*', 'snapshot-settings.json'),
    },
    {
      Action: ['s3:ListBucket'],
      Resource: bucketArn,
      Condition: prefixes('crosswalk-state/filled/*', 'crosswalk-state/accepted-names/*'),
    },
    // A whole file takes the place of an earlier one of its feed that waits for a decision.
    { Action: ['lambda:SendDurableExecutionCallbackSuccess'], Resource: executions('snapshot-import') },
    // A mapping may name the functions that the settings name.
    { Action: ['sqs:SendMessage'], Resource: queues },
  ],
  alarms: ({ metric, lambdaMetric, ruleMetric }) => ({
    SnapshotNotStarted: {
      severity: 'today',
      text: 'A file was put under `snapshots/`, and its import could not be started, or broke off. If the list does not name the file, deploy, which repairs the rule and its rights, then put the file again.',
      command: 'snapshots list',
      see: 'lib/options/snapshots/README.md#what-operators-do',
      ...counted([
        ruleMetric('FailedInvocations', 'dropped-snapshot'),
        lambdaMetric('AsyncEventsDropped', 'snapshot-import'),
      ]),
    },
    SnapshotFails: {
      severity: 'today',
      text: 'A file under `snapshots/` could not be imported, or not sent completely; or most of its rows were refused, or some for a code that the mapping or the settings do not name. The next import of its feed first sends the rest.',
      command: 'snapshots list',
      see: 'lib/options/snapshots/README.md#what-operators-do',
      ...counted([
        metric('SnapshotImports', { outcome: 'failed' }),
        metric('SnapshotImports', { outcome: 'mostly-refused' }),
        metric('SnapshotImports', { outcome: 'unknown-codes' }),
      ]),
    },
    SnapshotWaits: {
      severity: 'today',
      isEvent: true,
      text: 'A snapshot waits for a decision: it would change too much, lacks something, or looks like the next file of another feed. Nothing of it is sent until then: approve or reject it. Other feeds go on, and a later whole file of its feed takes its place. You are told again each morning, and after a week it is rejected.',
      command: 'snapshots list',
      see: 'lib/options/snapshots/README.md#what-operators-do',
      ...counted([metric('SnapshotImports', { outcome: 'waiting-for-approval' })]),
    },
    SnapshotUndecided: {
      severity: 'today',
      text: 'An export, or a user name that passed to another record, still waits for a decision. The value in this mail counts the exports, the user names, and the files that wait behind an export.',
      see: 'lib/options/snapshots/README.md#what-operators-do',
      ...countedAnew([metric('Decisions', { what: 'exports' }), metric('Decisions', { what: 'user-names' })]),
    },
    SnapshotExpired: {
      severity: 'act now',
      text: 'Nobody decided on an export in its time: it was rejected, and nothing of it was sent. To have it imported, put it again.',
      command: 'snapshots list',
      see: 'lib/options/snapshots/README.md#what-operators-do',
      ...counted([metric('SnapshotImports', { outcome: 'undecided' })]),
      isEvent: true,
    },
  }),
  onCall: () => looked,
  // A notification of the bucket itself would name the function, which names the bucket: CloudFormation rejects such a circle.
  // EventBridge calls the alias, which a durable function requires, and retries for a day. It costs $1 per million objects of the bucket.
  resources: (stage) => ({
    DroppedSnapshot: {
      Type: 'AWS::Events::Rule',
      Properties: {
        Name: `sis-relay-${stage}-dropped-snapshot`,
        Description: 'A file was put under snapshots/',
        EventPattern: {
          source: ['aws.s3'],
          'detail-type': ['Object Created'],
          detail: { bucket: { name: [ref('Files')] }, object: { key: [{ prefix: 'snapshots/' }] } },
        },
        Targets: [{ Id: 'snapshot-import', Arn: aliasOf('snapshot-import') }],
      },
    },
    DroppedSnapshotPermission: {
      Type: 'AWS::Lambda::Permission',
      Properties: {
        Action: 'lambda:InvokeFunction',
        FunctionName: aliasOf('snapshot-import'),
        Principal: 'events.amazonaws.com',
        SourceArn: arnOf('DroppedSnapshot'),
      },
    },
  }),
  people: (stage) => ({
    Readers: [
      ...looked,
      // Which imports are running: the others no longer wait.
      {
        Action: ['lambda:ListDurableExecutionsByFunction', 'lambda:ListVersionsByFunction'],
        Resource: stage.functionsAndVersions('snapshot-import'),
      },
      { Action: ['s3:GetObject'], Resource: objects('snapshot-records/*/report.csv') },
    ],
    Operators: [
      // Whole snapshots, and what a file is compared with.
      { Action: ['s3:GetObject'], Resource: objects('snapshot-*', 'crosswalk-state/filled/*') },
      {
        Action: ['s3:ListBucket'],
        Resource: bucketArn,
        Condition: prefixes('snapshot-*', 'crosswalk-state/filled/*'),
      },
    ],
    Leads: [
      // Decides on a waiting snapshot, and on a user name that passed.
      {
        Action: ['lambda:SendDurableExecutionCallbackSuccess'],
        Resource: stage.executions('snapshot-import'),
      },
      { Action: ['s3:PutObject'], Resource: objects('crosswalk-state/accepted-names/*') },
      // Exports, and what decides what they may change.
      {
        Action: ['s3:PutObject'],
        Resource: objects('snapshots/*', 'snapshot-settings.json', 'snapshot-mapping*'),
      },
      // Whether an export would take the place of another.
      { Action: ['s3:ListBucket'], Resource: bucketArn, Condition: prefixes('snapshots/*') },
      // An import may end a feed, which IAM does not see.
      { Action: ['lambda:InvokeFunction'], Resource: stage.aliases('snapshot-import') },
    ],
    Producers: [{ Action: ['s3:PutObject'], Resource: objects('snapshots/*') }],
  }),
};
