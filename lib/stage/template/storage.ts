import {
  arnOf,
  document,
  itemsOf,
  ofThisAccount,
  queueOf,
  type Resource,
  type Resources,
  ref,
  type Statement,
  sub,
  tlsOnly,
} from './cloudformation.ts';
import { bucketName, sharedResources } from './shared-resources.ts';
import type { TemplateOptions } from './stage-settings.ts';

const days = 24 * 3600;

/** All that keeps messages, letters, files and state: what functions share, and a queue for each. */
export const storageResources = (options: TemplateOptions, queued: string[]): Resources => {
  const all: Resources = {
    ...sharedResources(options, queued),
    DeadLetters: queue(options, 'dead-letters', { MaximumMessageSize: 1_048_576 }),
  };
  all.DeadLettersPolicy = queuePolicy('DeadLetters', []);
  for (const name of queued) {
    all[queueOf(name)] = queue(options, name, deliveries(options));
    all[`${queueOf(name)}Policy`] = queuePolicy(queueOf(name), sendersTo(options, queueOf(name)));
  }
  const encryption = encryptionBy(options.kmsKeyArn);
  return Object.fromEntries(
    Object.entries(all).map(([id, { Properties, ...more }]) => [
      id,
      { ...more, Properties: { ...Properties, ...encryption[more.Type] } },
    ]),
  );
};

/** A waiting message has no copy elsewhere, and a letter may be the only copy of a message: queues outlive the stack. */
const queue = ({ stage }: TemplateOptions, name: string, more: object): Resource => ({
  Type: 'AWS::SQS::Queue',
  DeletionPolicy: 'RetainExceptOnCreate',
  UpdateReplacePolicy: 'Retain',
  Properties: { QueueName: `sis-relay-${stage}-${name}`, MessageRetentionPeriod: 14 * days, ...more },
});

const deliveries = ({ queueVisibilitySeconds }: TemplateOptions) => ({
  VisibilityTimeout: queueVisibilitySeconds,
  // 16 KB less than DeadLetters accepts: a message always fits there together with its failure.
  MaximumMessageSize: 1_032_192,
  // For messages on which the function dies without a trace, and those of which no letter can be written: at the longest waits their
  // receipts end within 11 days, before the queue forgets them. A message that waits for a day is received 120 times.
  RedrivePolicy: { deadLetterTargetArn: arnOf('DeadLetters'), maxReceiveCount: 500 },
});

const queuePolicy = (id: string, senders: Statement[]): Resource => {
  const PolicyDocument = document([tlsOnly('sqs:*', arnOf(id)), ...senders]);
  return { Type: 'AWS::SQS::QueuePolicy', Properties: { Queues: [ref(id)], PolicyDocument } };
};

/** The services and accounts that the parameters allow to send. */
const sendersTo = (options: TemplateOptions, id: string): Statement[] => {
  const accounts = itemsOf(options.producerAccounts);
  const service = (Service: string, sources: unknown, more = {}): Statement => ({
    Effect: 'Allow',
    Principal: { Service },
    Action: ['sqs:SendMessage'],
    Resource: arnOf(id),
    Condition: { ...more, ArnEquals: { 'aws:SourceArn': sources } },
  });
  const { producerTopics, producerRules } = options;
  // The bucket by its name: a reference would be a circle, as the bucket needs this policy first.
  const bucket = sub(`arn:\${AWS::Partition}:s3:::${bucketName(options)}`);
  const account: Statement = {
    Effect: 'Allow',
    Principal: { AWS: accounts },
    Action: ['sqs:GetQueueUrl', 'sqs:SendMessage'],
    Resource: arnOf(id),
  };
  return [
    ...(producerTopics === '' ? [] : [service('sns.amazonaws.com', itemsOf(producerTopics))]),
    ...(producerRules === '' ? [] : [service('events.amazonaws.com', itemsOf(producerRules))]),
    ...(accounts.length === 0 ? [] : [account]),
    ...(options.eventNotices ? [service('s3.amazonaws.com', bucket, ofThisAccount)] : []),
  ];
};

/** By type: with a key of your own, or with those that AWS keeps. */
const encryptionBy = (key: string): Record<string, object> => {
  const bucket = (rule: object) => ({ BucketEncryption: { ServerSideEncryptionConfiguration: [rule] } });
  if (key === '')
    return {
      'AWS::SQS::Queue': { SqsManagedSseEnabled: true },
      'AWS::S3::Bucket': bucket({ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }),
    };
  const ServerSideEncryptionByDefault = { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: key };
  return {
    'AWS::SQS::Queue': { KmsMasterKeyId: key, KmsDataKeyReusePeriodSeconds: 3600 },
    'AWS::S3::Bucket': bucket({ BucketKeyEnabled: true, ServerSideEncryptionByDefault }),
    'AWS::DynamoDB::Table': { SSESpecification: { SSEEnabled: true, SSEType: 'KMS', KMSMasterKeyId: key } },
    'AWS::SecretsManager::Secret': { KmsKeyId: key },
  };
};
