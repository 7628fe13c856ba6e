import type { Grant } from './grant.ts';
import {
  bucketArn,
  crosswalkArn,
  deadLettersArn,
  leadingKeys,
  ledgerArn,
  letterIndexArn,
  letterIndexByListArn,
  objects,
  prefixes,
  type StageArns,
} from './stage-arns.ts';

// For the people who run `sis-relay`, and for systems that send messages: policies that apply only once an administrator attaches them.
// lib/stage/roles.ts names the commands of each role. A person of a role has the policies before it, too: lead, operator, reader.

export type PolicyId = 'Readers' | 'Operators' | 'Leads' | 'Producers';

export type PolicyOfPeople = { Description: string; rights(stage: StageArns): Grant[] };

/** Nothing here reads the content of a message: no queue, no archive, no state of a snapshot, no secret. */
const readers: PolicyOfPeople = {
  Description:
    'What the command sis-relay shows of a stage, lists and groups of letters, what waits, traces and reports',
  rights: (stage) => [
    { Action: ['sqs:GetQueueUrl', 'sqs:GetQueueAttributes'], Resource: stage.queueNamed('*') },
    // The lists of letters and of waiting messages.
    { Action: ['dynamodb:Scan', 'dynamodb:BatchGetItem'], Resource: letterIndexArn },
    { Action: ['dynamodb:Query'], Resource: letterIndexByListArn },
    // Incidents, the pace, pauses, and the claims of each resource.
    { Action: ['dynamodb:GetItem'], Resource: ledgerArn },
    // What one of the SIS' names stands for. Without Query and Scan, nobody lists the names.
    { Action: ['dynamodb:GetItem', 'dynamodb:BatchGetItem'], Resource: crosswalkArn },
    { Action: ['s3:GetObject'], Resource: objects('audit/*') },
    // Of archives, their names.
    {
      Action: ['s3:ListBucket'],
      Resource: bucketArn,
      Condition: prefixes('audit/*', 'discarded/*', 'edited/*'),
    },
    { Action: ['kms:Decrypt'], Resource: stage.kmsKey },
    { Action: ['logs:FilterLogEvents'], Resource: stage.logNamed('*') },
    // How many messages were done: what is done at once leaves no record. IAM grants the metrics of all or none.
    { Action: ['cloudwatch:GetMetricData'], Resource: '*' },
    // The stack's outputs, so that --stage alone is enough to find everything.
    { Action: ['cloudformation:DescribeStacks'], Resource: stage.stackNamed('*') },
    // Which functions are paused. IAM grants the list for all mappings or none.
    { Action: ['lambda:ListEventSourceMappings'], Resource: '*' },
  ],
};

/**
 * Who replays letters may send to the functions' queues. IAM cannot distinguish that from `publish`, which the command refuses because it may
 * not write the entry of a lead to the audit log.
 */
const operators: PolicyOfPeople = {
  Description: 'What the command sis-relay does to letters and waiting messages, beside what Readers may',
  rights: (stage) => [
    { Action: ['sqs:SendMessage'], Resource: stage.queues },
    // ChangeMessageVisibility makes waiting messages visible at once when an operator wakes them.
    { Action: ['sqs:ReceiveMessage', 'sqs:ChangeMessageVisibility'], Resource: stage.queueNamed('*') },
    { Action: ['sqs:DeleteMessage'], Resource: deadLettersArn },
    // Entries of the audit log about what an operator may do, and archives of discarded or edited letters.
    { Action: ['s3:PutObject'], Resource: objects('audit/*-operator.json', 'edited/*', 'discarded/*') },
    { Action: ['s3:GetObject'], Resource: objects('edited/*', 'discarded/*', 'letters/*') },
    { Action: ['kms:Decrypt', 'kms:GenerateDataKey'], Resource: stage.kmsKey },
    // The lists, which operators' actions update.
    {
      Action: ['dynamodb:BatchWriteItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
      Resource: letterIndexArn,
    },
    // Replays ask the platform first. Who looks up an uncertain submission signs as its learner, and so could do more in that name.
    {
      Action: ['secretsmanager:GetSecretValue'],
      Resource: [stage.secretNamed('service-??????'), stage.secretNamed('users/*')],
    },
    { Action: ['secretsmanager:DescribeSecret'], Resource: stage.secretNamed('users/*') },
    { Action: ['s3:GetObject'], Resource: objects('uploads/submission-upload/*') },
    {
      Action: ['lambda:InvokeFunction'],
      Resource: stage.functions('dead-letter-replay', 'connection-check'),
    },
  ],
};

const leads: PolicyOfPeople = {
  Description: 'What the command sis-relay decides, sends and stops, beside what Readers and Operators may',
  rights: (stage) => [
    { Action: ['s3:PutObject'], Resource: objects('audit/*-lead.json') },
    // Brings letters back.
    { Action: ['sqs:SendMessage'], Resource: deadLettersArn },
    { Action: ['lambda:InvokeFunction'], Resource: stage.functions('token-refresh') },
    // Who changes an event-source mapping may also give it a filter, which deletes the messages that do not match. IAM has no condition
    // for that; `status` reports a filter.
    {
      Action: ['lambda:UpdateEventSourceMapping'],
      Resource: stage.arn('lambda', 'event-source-mapping:*'),
      Condition: { ArnLike: { 'lambda:FunctionArn': stage.functionNamed('*') } },
    },
    { Action: ['dynamodb:UpdateItem'], Resource: ledgerArn, Condition: leadingKeys('paused/*') },
    // Secrets that a letter's remedy may name. Those of LTI links may be written, not read.
    {
      Action: ['secretsmanager:CreateSecret', 'secretsmanager:PutSecretValue'],
      Resource: ['service-??????', 'users/*', 'lti-links/*'].map(stage.secretNamed),
    },
    { Action: ['kms:Decrypt', 'kms:GenerateDataKey'], Resource: stage.kmsKey },
  ],
};

const producers: PolicyOfPeople = {
  Description: 'What a student information system needs, to send messages and the files that they name',
  rights: (stage) => [
    { Action: ['sqs:GetQueueUrl', 'sqs:SendMessage'], Resource: stage.queueNamed('*') },
    { Effect: 'Deny', Action: ['sqs:SendMessage'], Resource: deadLettersArn },
    { Action: ['s3:PutObject'], Resource: objects('uploads/*') },
    {
      Action: ['s3:PutObject'],
      Resource: objects('events/*'),
    },
    { Action: ['kms:Decrypt', 'kms:GenerateDataKey'], Resource: stage.kmsKey },
  ],
};

/** By their logical ids. Options add to them. */
export const people: Record<PolicyId, PolicyOfPeople> = {
  Readers: readers,
  Operators: operators,
  Leads: leads,
  Producers: producers,
};
