import * as z from 'zod';
import type { Integration } from '../../delivery/handle/integration.ts';
import { sisFields } from '../../message/sis-ids.ts';
import type { Grant } from './grant.ts';
import {
  crosswalkArn,
  deadLettersArn,
  leadingKeys,
  ledgerArn,
  ledgerKey,
  letterIndexArn,
  objects,
  type StageArns,
} from './stage-arns.ts';
import type { TemplateOptions } from './stage-settings.ts';

/** A file of functions/, by its declarations. */
export type DeclaredRights = {
  name: string;
  /** Whether it calls the platform. */
  calls: boolean;
  /** Whether it is a Lambda durable function. */
  durable: boolean;
  scheduled: boolean;
  /** Undefined: no queue triggers it. */
  integration: Integration<unknown> | undefined;
};

/** What a function may do because of what it is. */
export const functionRights = (
  { tracing, subnetIds }: TemplateOptions,
  { name, calls, durable, integration }: DeclaredRights,
  stage: StageArns,
): Grant[] => [
  { Action: ['logs:CreateLogStream', 'logs:PutLogEvents'], Resource: stage.logNamed(`${name}:*`) },
  { Action: ['kms:Decrypt', 'kms:GenerateDataKey'], Resource: stage.kmsKey },
  ...(tracing === 'Active' ? [traces] : []),
  ...(subnetIds === '' ? [] : [hasAddressInVpc]),
  ...(calls ? [readsSigner(integration, stage)] : []),
  ...(durable ? durableRights(name, stage) : []),
  ...(durable && calls ? [countsItsCalls(name)] : []),
  ...(integration ? queuedRights(integration, stage) : []),
];

const traces: Grant = { Action: ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'], Resource: '*' };

/** Lambda gives the function an address in the VPC. */
const hasAddressInVpc: Grant = {
  Action: [
    'ec2:CreateNetworkInterface',
    'ec2:DescribeNetworkInterfaces',
    'ec2:DescribeSubnets',
    'ec2:DeleteNetworkInterface',
    'ec2:AssignPrivateIpAddresses',
    'ec2:UnassignPrivateIpAddresses',
  ],
  Resource: '*',
};

const readsSigner = (integration: DeclaredRights['integration'], { secretNamed }: StageArns): Grant => ({
  Action: ['secretsmanager:GetSecretValue'],
  Resource: secretNamed(integration?.actor ? 'users/*' : 'service-??????'),
});

const durableRights = (name: string, { functionNamed }: StageArns): Grant[] => [
  {
    Action: ['lambda:CheckpointDurableExecution', 'lambda:GetDurableExecutionState'],
    Resource: functionNamed(`${name}:*/durable-execution/*`),
  },
  // Whether an earlier execution is still running, of any version.
  {
    Action: ['lambda:ListDurableExecutionsByFunction', 'lambda:ListVersionsByFunction'],
    Resource: functionNamed(`${name}*`),
  },
];

const countsItsCalls = (name: string): Grant => ({
  Action: ['dynamodb:UpdateItem'],
  Resource: ledgerArn,
  Condition: leadingKeys(`pace/${name}/*`),
});

const queuedRights = (integration: Integration<unknown>, stage: StageArns): Grant[] => {
  const { name, changes, files, secrets, effect } = integration;
  const queue = stage.queueOf(integration);
  return [
    {
      Action: [
        'sqs:ReceiveMessage',
        'sqs:DeleteMessage',
        'sqs:GetQueueAttributes',
        'sqs:ChangeMessageVisibility',
      ],
      Resource: queue,
    },
    { Action: ['sqs:SendMessage'], Resource: deadLettersArn },
    // Messages that it reads from files of events.
    { Action: ['sqs:SendMessage'], Resource: queue },
    { Action: ['s3:GetObject', 's3:GetObjectVersion'], Resource: objects(`events/${name}/*`) },
    // Messages that SQS refuses as letters.
    { Action: ['s3:PutObject'], Resource: objects(`letters/${name}/*`) },
    // GetItem: of 1.0.0, whose functions run for a while with the roles of the next version.
    {
      Action: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
      Resource: ledgerArn,
      Condition: leadingKeys(...changes.map((kind) => `${kind}/*`)),
    },
    // Refused changes of the service's credential, its number of calls, and when its last message came.
    {
      Action: ['dynamodb:UpdateItem'],
      Resource: ledgerArn,
      Condition: leadingKeys('incident/service-credential', `pace/${name}/*`, `arrived/${name}`),
    },
    // The number of times it crashed on a message before it locked a resource.
    {
      Action: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
      Resource: ledgerArn,
      Condition: leadingKeys(`receipt/${name}/*`),
    },
    // The lists of its letters and waiting messages.
    { Action: ['dynamodb:BatchGetItem', 'dynamodb:UpdateItem'], Resource: letterIndexArn },
    ...(files ? [{ Action: ['s3:GetObject'], Resource: objects(`uploads/${name}/*`) } satisfies Grant] : []),
    ...(secrets === undefined ? [] : [readsSecret(stage.secretNamed(`${secrets}/*`))]),
    ...(effect ? [readsSecret(ledgerKey)] : []),
    ...(takesSisIds(integration) ? [looksUpSisIds] : []),
  ];
};

const readsSecret = (Resource: unknown): Grant => ({ Action: ['secretsmanager:GetSecretValue'], Resource });

const looksUpSisIds: Grant = { Action: ['dynamodb:BatchGetItem'], Resource: crosswalkArn };

/** Whether messages may use the SIS' own ids. */
const takesSisIds = ({ data }: Integration<unknown>): boolean => {
  const schema = JSON.stringify(z.toJSONSchema(data, { io: 'input', unrepresentable: 'any' }));
  return sisFields.some(([platformField]) => schema.includes(`"${platformField}":`));
};
