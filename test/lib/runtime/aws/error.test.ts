import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { LambdaClient, ListDurableExecutionsByFunctionCommand } from '@aws-sdk/client-lambda';
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import {
  GetSecretValueCommand,
  ListSecretsCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import {
  ChangeMessageVisibilityBatchCommand,
  GetQueueUrlCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import { errorName, traced } from '../../../../lib/runtime/aws/error.ts';
import { localClient } from '../../../local/aws/aws.ts';

const serve = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** AWS as it refuses whatever is asked, in the protocol of each service. */
const refusing = (type: string, status = 400) =>
  serve((request, response) => {
    // Lambda's calls have paths that begin with a date, and S3's with a bucket.
    const isJson = request.headers['x-amz-target'] !== undefined || request.url?.startsWith('/20');
    const body = isJson
      ? JSON.stringify({ __type: `com.amazonaws#${type}`, message: 'private-content' })
      : `<Error><Code>${type}</Code><Message>private-content</Message></Error>`;
    response.writeHead(status, { 'content-type': isJson ? 'application/x-amz-json-1.0' : 'application/xml' });
    response.end(request.method === 'HEAD' ? undefined : body);
  });

const clientsOf = (url: string) => {
  const options = { ...localClient(url), maxAttempts: 1, forcePathStyle: true };
  const clients = {
    dynamodb: traced(new DynamoDBClient(options)),
    sqs: traced(new SQSClient(options)),
    s3: traced(new S3Client(options)),
    lambda: traced(new LambdaClient(options)),
    secrets: traced(new SecretsManagerClient(options)),
  };
  onTestFinished(() => {
    for (const client of Object.values(clients)) client.destroy();
  });
  return clients;
};

const failureOfCall = async (call: Promise<unknown>) =>
  failureOf(
    await call.then(
      () => expect.unreachable('it was answered'),
      (error: unknown) => error,
    ),
  );

const QueueUrl = 'https://sqs.eu-west-1.amazonaws.com/123456789012/dead-letters';
const TableName = 'sis-relay-prod-ledger';

describe('what no waiting heals', () => {
  const FunctionName = 'arn:aws:lambda:eu-west-1:123456789012:function:sis-relay-prod-course-export';
  const SecretId = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:sis-relay/prod/service-AbCdEf';
  const tableArn = `arn:aws:dynamodb:eu-west-1:123456789012:table/${TableName}`;
  const part = { Bucket: 'files', Key: 'a', UploadId: 'b', PartNumber: 1, Body: 'private' };
  const visibility = new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries: [] });
  const calls: [string, string, keyof ReturnType<typeof clientsOf>, object][] = [
    [
      'dynamodb:GetItem',
      `table ${TableName}`,
      'dynamodb',
      new GetItemCommand({ TableName: tableArn, Key: {} }),
    ],
    [
      'sqs:SendMessage',
      'queue dead-letters',
      'sqs',
      new SendMessageCommand({ QueueUrl, MessageBody: 'private' }),
    ],
    ['sqs:ChangeMessageVisibility', 'queue dead-letters', 'sqs', visibility],
    ['sqs:GetQueueUrl', 'queue grade-push', 'sqs', new GetQueueUrlCommand({ QueueName: 'grade-push' })],
    [
      'secretsmanager:GetSecretValue',
      'secret sis-relay/prod/service-AbCdEf',
      'secrets',
      new GetSecretValueCommand({ SecretId }),
    ],
    [
      'secretsmanager:GetSecretValue',
      'secret service',
      'secrets',
      new GetSecretValueCommand({ SecretId: 'service' }),
    ],
    [
      'lambda:ListDurableExecutionsByFunction',
      'function sis-relay-prod-course-export',
      'lambda',
      new ListDurableExecutionsByFunctionCommand({ FunctionName }),
    ],
    ['s3:GetObject', 'bucket files', 's3', new GetObjectCommand({ Bucket: 'files', Key: 'private.pdf' })],
    ['s3:ListBucket', 'bucket files', 's3', new ListObjectsV2Command({ Bucket: 'files', Prefix: 'private' })],
    ['s3:PutObject', 'bucket files', 's3', new UploadPartCommand(part)],
    ['secretsmanager:ListSecrets', '', 'secrets', new ListSecretsCommand({})],
  ];

  test.each(calls)(
    'waits, and names the action, the resource and who must act: %s on %s',
    async (action, named, service, command) => {
      const client: { send(command: never): Promise<unknown> } = clientsOf(
        await refusing('AccessDeniedException'),
      )[service];
      const failure = await failureOfCall(client.send(command as never));
      const resource = named === '' ? 'everything' : `the ${named}`;
      expect(failure).toEqual({
        kind: 'aws-refused',
        message: `AWS refuses ${action} on ${resource} (AccessDeniedException): an administrator of the AWS account must allow it`,
        remedy: expect.stringContaining(`let the function’s role do ${action} on ${resource}`),
      });
      expect(JSON.stringify(failure)).not.toMatch(/private|123456789012/);
    },
  );

  test.each([
    ['UnrecognizedClientException', 400, /administrator.* must allow it/],
    ['ResourceNotFoundException', 400, /the person who deploys sis-relay must create it/],
    ['QueueDoesNotExist', 400, /the person who deploys sis-relay must create it/],
    ['KMS.DisabledException', 400, /make its key usable/],
    ['DecryptionFailure', 400, /make its key usable/],
    ['ValidationException', 400, /the maintainers of sis-relay must look into it/],
    ['PermanentRedirect', 301, /the maintainers of sis-relay must look into it/],
  ])('is %s', async (type, status, who) => {
    const { dynamodb } = clientsOf(await refusing(type, status));
    const failure = await failureOfCall(dynamodb.send(new UpdateItemCommand({ TableName, Key: {} })));
    expect(failure).toMatchObject({ kind: 'aws-refused', message: expect.stringMatching(who) });
    expect(failure.remedy).toMatch(/Waiting messages then continue by themselves\.$/);
    expect(failure.remedy).toContain(TableName);
  });

  test('is told of a client that nobody traces, too, without the call', async () => {
    const client = new DynamoDBClient({
      ...localClient(await refusing('AccessDeniedException')),
      maxAttempts: 1,
    });
    onTestFinished(() => client.destroy());
    expect(await failureOfCall(client.send(new UpdateItemCommand({ TableName, Key: {} })))).toMatchObject({
      kind: 'aws-refused',
      message: expect.stringMatching(/^AWS refuses a call on what it names \(AccessDeniedException\)/),
    });
  });

  test('is what a proxy says in the place of AWS, without its words', async () => {
    const url = await serve((_, response) =>
      response
        .writeHead(403, { 'content-type': 'text/html' })
        .end('<html>Blocked for jane@example.edu</html>'),
    );
    const failure = await failureOfCall(
      clientsOf(url).dynamodb.send(new UpdateItemCommand({ TableName, Key: {} })),
    );
    expect(failure.kind).toBe('aws-refused');
    expect(JSON.stringify(failure)).not.toContain('jane');
  });
});

describe('what passes', () => {
  test.each([
    ['ThrottlingException', 400],
    ['RequestLimitExceeded', 400],
    ['TransactionConflictException', 400],
    ['KmsThrottled', 400],
    ['InternalServerError', 500],
    ['OperationAborted', 409],
    ['RequestTimeout', 400],
    ['RequestTimeTooSkewed', 403],
    // The role’s own credentials end and are renewed by Lambda.
    ['ExpiredTokenException', 400],
    ['RequestExpired', 400],
    ['TooManyRequestsException', 429],
  ])('waits without calling anybody: %s', async (type, status) => {
    const { dynamodb } = clientsOf(await refusing(type, status));
    expect(await failureOfCall(dynamodb.send(new UpdateItemCommand({ TableName, Key: {} })))).toMatchObject({
      kind: 'unavailable',
      message: `AWS did not answer dynamodb:UpdateItem on the table ${TableName}: ${type}`,
      remedy: expect.stringMatching(/^Do nothing at first: the message continues by itself/),
    });
  });

  test('is an answer without a body to a question about an object, as S3 gives it to expired credentials', async () => {
    const { s3 } = clientsOf(await refusing('ExpiredToken', 400));
    expect((await failureOfCall(s3.send(new HeadObjectCommand({ Bucket: 'files', Key: 'a' })))).kind).toBe(
      'unavailable',
    );
  });
});

test.each([
  [Object.assign(new Error('x'), { name: 'KMS.DisabledException' }), 'KMS.DisabledException'],
  [Object.assign(new Error('x'), { name: 'no, Jane' }), 'Error'],
  ['Jane', 'string'],
])('the name of an error is one word, as a proxy may write any text there: %s', (error, name) => {
  expect(errorName(error)).toBe(name);
});
