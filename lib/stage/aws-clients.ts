import { type ClientOptions, lazyAwsClient } from '../runtime/aws/clients.ts';
import { createDynamoDb } from '../runtime/aws/dynamodb-sdk.ts';
import { s3Client } from '../runtime/aws/s3.ts';
import { sqsClient } from '../runtime/aws/sqs.ts';

type Service = 'sqs' | 's3' | 'secretsManager' | 'dynamodb';

/** The AWS clients for operators' work. Each is loaded at its first use. */
export const awsClients = (optionsOf: (service: Service) => ClientOptions) => ({
  sqs: sqsClient(optionsOf('sqs')),
  s3: s3Client(optionsOf('s3')),
  secretsManager: lazyAwsClient(
    async () => (await import('@aws-sdk/client-secrets-manager')).SecretsManagerClient,
    optionsOf('secretsManager'),
  ),
  dynamodb: createDynamoDb(optionsOf('dynamodb')),
});

export type AwsClients = ReturnType<typeof awsClients>;
