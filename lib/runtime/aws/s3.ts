import { type ClientOptions, lazyAwsClient } from './clients.ts';

export const s3Client = (options: ClientOptions) =>
  lazyAwsClient(async () => (await import('@aws-sdk/client-s3')).S3Client, options);
