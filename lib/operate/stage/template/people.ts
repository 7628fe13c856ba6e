import {
  allow,
  arn,
  arnOf,
  deskLists,
  document,
  list,
  type Options,
  onFiles,
  type Resource,
  type Resources,
  ref,
  type Statement,
  sub,
  useKey,
  withKeys,
} from './cloudformation.ts';
import { allLogs, allQueues, functionArn, secrets } from './roles.ts';

const policy = (Description: string, statements: Statement[]): Resource => ({
  Type: 'AWS::IAM::ManagedPolicy',
  Properties: { Description, PolicyDocument: document(statements) },
});

/** Policies for the people who run `sis-relay`, and for systems that send messages. They apply only once an administrator attaches them. */
export const policiesForPeople = (options: Options): Resources => {
  const { service, users, in: secretsIn } = secrets(options);
  const queues = allQueues(options);
  const findAndSend = allow('sqs', 'GetQueueUrl SendMessage', queues);
  return {
    Operators: policy('What the command sis-relay does to queues, letters, secrets and the audit log', [
      findAndSend,
      // ChangeMessageVisibility makes waiting messages visible at once when an operator wakes them.
      allow('sqs', 'GetQueueAttributes ReceiveMessage ChangeMessageVisibility', queues),
      allow('sqs', 'DeleteMessage', arnOf('DeadLetters')),
      // The audit log, and archives of discarded or edited letters, which can be imported again.
      onFiles('PutObject GetObject', ['audit/*', 'edited/*', 'discarded/*']),
      // Messages that SQS refuses as letters, codes that moved, the changes of a snapshot, and the findings of comparisons.
      onFiles('GetObject', [
        'letters/*',
        'crosswalk-state/filled/moved-*.json',
        'snapshot-records/*',
        'reconcile/*',
      ]),
      // Decisions on the findings of comparisons.
      onFiles('PutObject', ['reconcile/accepted/*', 'reconcile/resends/*']),
      list(['audit/*', 'discarded/*', 'edited/*', 'snapshot-records/*', 'reconcile/*']),
      ...useKey(options),
      // The lists of letters and of waiting messages, which operators' actions update.
      allow('dynamodb', 'Scan BatchGetItem BatchWriteItem UpdateItem DeleteItem', arnOf('Desk')),
      allow('dynamodb', 'Query', deskLists),
      // Incidents, the pace, and the claims of each resource.
      allow('dynamodb', 'GetItem', arnOf('Ledger')),
      allow('logs', 'FilterLogEvents', allLogs(options, '*')),
      // The stack's outputs, so that --stage alone is enough to find everything.
      allow('cloudformation', 'DescribeStacks', arn('cloudformation', `stack/sis-relay-${options.stage}/*`)),
      // Which functions are paused. IAM grants the list for all mappings or none.
      allow('lambda', 'ListEventSourceMappings', '*'),
      // The names in the crosswalk, and accepting that a code moved.
      allow('dynamodb', 'GetItem BatchGetItem', arnOf('Crosswalk')),
      allow('dynamodb', 'PutItem', arnOf('Crosswalk'), withKeys(['accepted/*'])),
      // Decides on a waiting snapshot.
      allow(
        'lambda',
        'SendDurableExecutionCallbackSuccess',
        functionArn(options, 'snapshot-import:*/durable-execution/*'),
      ),
      allow('secretsmanager', 'GetSecretValue', service),
      allow('secretsmanager', 'DescribeSecret', users),
      // Secrets that a letter's remedy may name. The secrets of LTI links may be written, not read.
      allow('secretsmanager', 'CreateSecret PutSecretValue', [service, users, secretsIn('lti-links')]),
      allow('lambda', 'InvokeFunction', [
        arnOf('DeadDashletterDashreplayLambdaFunction'),
        arnOf('ConnectionDashcheckLambdaFunction'),
        ref('CourseDashexportDurableLambdaAlias'),
        ref('CrosswalkDashfillDurableLambdaAlias'),
        ref('ReconcileDurableLambdaAlias'),
        arnOf('TokenDashrefreshLambdaFunction'),
      ]),
      // The results of executions, and stopping one: the name of an execution begins with its function's. IAM limits the length of a
      // policy.
      allow(
        'lambda',
        'ListDurableExecutionsByFunction GetDurableExecution GetDurableExecutionHistory StopDurableExecution',
        ['CourseDashexport', 'CrosswalkDashfill', 'Reconcile'].map((id) =>
          sub(`\${${id}LambdaFunction.Arn}*`),
        ),
      ),
    ]),
    // A user who may change an event-source mapping may also give it a filter, which deletes the messages that do not match. IAM has no
    // condition for that, so only people who pause functions get this; `status` reports a filter.
    Pausers: policy(
      'What pause and resume do beside what Operators may, deliveries and who stopped them and why',
      [
        allow('lambda', 'UpdateEventSourceMapping', arn('lambda', 'event-source-mapping:*'), {
          ArnLike: { 'lambda:FunctionArn': functionArn(options, '*') },
        }),
        allow('dynamodb', 'UpdateItem', arnOf('Ledger'), withKeys(['paused/*'])),
        ...useKey(options),
      ],
    ),
    // A person who reads a user's secret could sign as that user, so only people who look up uncertain submissions get this.
    Verifiers: policy(
      'What letters verify reads beside what Operators may, whose credential signs and how large files are',
      [
        allow('secretsmanager', 'GetSecretValue', users),
        onFiles('GetObject', ['uploads/submission-upload/*']),
        ...useKey(options),
      ],
    ),
    Producers: policy(
      'What a student information system needs, to send messages and the files that they name',
      [
        findAndSend,
        { ...allow('sqs', 'SendMessage', arnOf('DeadLetters')), Effect: 'Deny' },
        onFiles('PutObject', ['uploads/*']),
        onFiles('PutObject', ['events/*', 'snapshots/*', 'crosswalk/*']),
        ...useKey(options),
      ],
    ),
  };
};
