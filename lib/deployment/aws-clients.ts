import { type ClientOptions, lazyAwsClient } from '../aws/clients.ts';
import { createDynamoDb } from '../aws/dynamodb.ts';

type Service = 'sqs' | 's3' | 'secretsManager' | 'dynamodb';

/** The clients of AWS that operators' work needs, each loaded when it is first asked for. */
export const awsClients = (optionsOf: (service: Service) => ClientOptions) => ({
  sqs: lazyAwsClient(async () => (await import('@aws-sdk/client-sqs')).SQSClient, optionsOf('sqs')),
  s3: lazyAwsClient(async () => (await import('@aws-sdk/client-s3')).S3Client, optionsOf('s3')),
  secretsManager: lazyAwsClient(
    async () => (await import('@aws-sdk/client-secrets-manager')).SecretsManagerClient,
    optionsOf('secretsManager'),
  ),
  dynamodb: createDynamoDb(optionsOf('dynamodb')),
});

export type AwsClients = ReturnType<typeof awsClients>;
