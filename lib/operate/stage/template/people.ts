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

/** For the people who run `sis-relay`, and for whatever sends messages. Nobody has them until somebody attaches them. */
export const policiesForPeople = (options: Options): Resources => {
  const { service, users, in: secretsIn } = secrets(options);
  const queues = allQueues(options);
  const findAndSend = allow('sqs', 'GetQueueUrl SendMessage', queues);
  return {
    Operators: policy('What the command sis-relay does to queues, letters, secrets and the audit log', [
      findAndSend,
      // Messages that wait are shown at once where an operator wakes them.
      allow('sqs', 'GetQueueAttributes ReceiveMessage ChangeMessageVisibility', queues),
      allow('sqs', 'DeleteMessage', arnOf('DeadLetters')),
      // What was done, and what was discarded or edited and can be imported again.
      onFiles('PutObject GetObject', ['audit/*', 'edited/*', 'discarded/*']),
      // Messages that SQS does not take as letters, codes that moved, what a snapshot changes, and what comparisons found.
      onFiles('GetObject', [
        'letters/*',
        'crosswalk-state/filled/moved-*.json',
        'snapshot-records/*',
        'reconcile/*',
      ]),
      // What is to be done about what comparisons found.
      onFiles('PutObject', ['reconcile/accepted/*', 'reconcile/resends/*']),
      list(['audit/*', 'discarded/*', 'edited/*', 'snapshot-records/*', 'reconcile/*']),
      ...useKey(options),
      // The lists of letters and of what waits, which follow what operators do.
      allow('dynamodb', 'Scan BatchGetItem BatchWriteItem UpdateItem DeleteItem', arnOf('Desk')),
      allow('dynamodb', 'Query', deskLists),
      // Incidents, the pace, and what was done to a resource by which message.
      allow('dynamodb', 'GetItem', arnOf('Ledger')),
      allow('logs', 'FilterLogEvents', allLogs(options, '*')),
      // The stack's outputs, so that --stage alone says where everything is.
      allow('cloudformation', 'DescribeStacks', arn('cloudformation', `stack/sis-relay-${options.stage}/*`)),
      // Which functions are paused. IAM grants the list for all mappings or none.
      allow('lambda', 'ListEventSourceMappings', '*'),
      // What the SIS' ids stand for, and that a code's move is accepted.
      allow('dynamodb', 'GetItem BatchGetItem', arnOf('Crosswalk')),
      allow('dynamodb', 'PutItem', arnOf('Crosswalk'), withKeys(['accepted/*'])),
      // Whether a snapshot may change what it does.
      allow(
        'lambda',
        'SendDurableExecutionCallbackSuccess',
        functionArn(options, 'snapshot-import:*/durable-execution/*'),
      ),
      allow('secretsmanager', 'GetSecretValue', service),
      allow('secretsmanager', 'DescribeSecret', users),
      // What a letter asks them to put right. What lies there for links is not theirs to read.
      allow('secretsmanager', 'CreateSecret PutSecretValue', [service, users, secretsIn('lti-links')]),
      allow('lambda', 'InvokeFunction', [
        arnOf('DeadDashletterDashreplayLambdaFunction'),
        arnOf('ConnectionDashcheckLambdaFunction'),
        ref('CourseDashexportDurableLambdaAlias'),
        ref('CrosswalkDashfillDurableLambdaAlias'),
        ref('ReconcileDurableLambdaAlias'),
        arnOf('TokenDashrefreshLambdaFunction'),
      ]),
      // What an execution came to, and to end one: their names begin with their function's. IAM counts the letters of a policy.
      allow(
        'lambda',
        'ListDurableExecutionsByFunction GetDurableExecution GetDurableExecutionHistory StopDurableExecution',
        ['CourseDashexport', 'CrosswalkDashfill', 'Reconcile'].map((id) =>
          sub(`\${${id}LambdaFunction.Arn}*`),
        ),
      ),
    ]),
    // Whoever may change an event-source mapping may also give it a filter, which deletes the messages that do not match. IAM has no
    // condition for that, so this is for those alone who may pause; `status` reports a filter.
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
    // Whoever reads a user's secret could sign as that user, so this is for those alone who look up uncertain submissions.
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
