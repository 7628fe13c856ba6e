import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueUrlCommand,
  type Message,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createQueue, localClient, startQueuesAndFiles } from './aws.ts';
import { passingTime } from './passing-time.ts';

const time = passingTime();
let aws: Awaited<ReturnType<typeof startQueuesAndFiles>>;
let sqs: SQSClient;
let s3: S3Client;
let queue: { url: string; arn: string };
let queues = 0;

beforeAll(async () => {
  aws = await startQueuesAndFiles();
  sqs = new SQSClient({ ...localClient(aws.url), maxAttempts: 1 });
  s3 = new S3Client({ ...localClient(aws.url), forcePathStyle: true, maxAttempts: 1 });
  await s3.send(new CreateBucketCommand({ Bucket: 'uploads' }));
});
afterAll(async () => {
  sqs.destroy();
  s3.destroy();
  await aws.close();
});
beforeEach(async () => {
  queue = await createQueue(sqs, `queue-${queues++}`);
});

const send = (body: string, attributes?: Record<string, MessageAttributeValue>, url = queue.url) =>
  sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body, MessageAttributes: attributes }));

const receive = async (url = queue.url, waitTimeSeconds = 0): Promise<Message[]> => {
  const answer = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: 10,
      WaitTimeSeconds: waitTimeSeconds,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['All'],
    }),
  );
  return answer.Messages ?? [];
};

const setVisibility = (message: Message, seconds: number) =>
  sqs.send(
    new ChangeMessageVisibilityBatchCommand({
      QueueUrl: queue.url,
      Entries: [{ Id: 'only', ReceiptHandle: message.ReceiptHandle, VisibilityTimeout: seconds }],
    }),
  );

const fault = (body: object) =>
  fetch(`${aws.url}/_local/faults`, { method: 'POST', body: JSON.stringify(body) });

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    ({ name, code, $metadata }) => ($metadata?.httpStatusCode ? name : (code ?? name)) as string,
  );

describe('the server', () => {
  test('is bound to 127.0.0.1 alone', async () => {
    const port = Number(new URL(aws.url).port);
    const other = createServer();
    // The port is free on every other address of the machine exactly when the server does not hold the wildcard.
    await new Promise<void>((resolve, reject) =>
      other.once('error', reject).listen(port, '127.0.0.2', resolve),
    );
    await new Promise((resolve) => other.close(resolve));
    expect(aws.url).toBe(`http://127.0.0.1:${port}`);
  });

  test('stops while a long poll waits, and leaves nothing open', async () => {
    const script = `
      import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
      import { createQueue, localClient, startQueuesAndFiles } from './aws.ts';
      const aws = await startQueuesAndFiles();
      const sqs = new SQSClient({ ...localClient(aws.url), maxAttempts: 1 });
      const { url } = await createQueue(sqs, 'q');
      const poll = sqs.send(new ReceiveMessageCommand({ QueueUrl: url, WaitTimeSeconds: 20 })).catch(() => {});
      await createQueue(sqs, 'meanwhile');
      await aws.close();
      await poll;
      sqs.destroy();`;
    // The process ends by itself only when nothing is left open.
    const options = { cwd: import.meta.dirname };
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], options);
  });
});

describe('a queue', () => {
  test('has its address on the port of the server', async () => {
    const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: queue.url.split('/').at(-1) }));
    expect(QueueUrl).toBe(queue.url);
    expect(queue.url).toMatch(`${aws.url}/000000000000/queue-`);
    expect(queue.arn).toMatch(/^arn:aws:sqs:us-east-1:000000000000:queue-/);
  });

  test('carries the body byte for byte, emoji included, and the attributes with their types', async () => {
    const body = '{"comments":"Bravo 🎉\\u0000\r\n\té"}';
    const attributes = {
      text: { DataType: 'String', StringValue: 'Ünïcode 🎓' },
      number: { DataType: 'Number', StringValue: '3' },
      bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([0, 255, 1]) },
    };
    await send(body, attributes);
    const [message] = await receive();
    expect(message?.Body).toBe(body);
    expect(message?.MessageAttributes).toEqual({
      text: expect.objectContaining(attributes.text),
      number: expect.objectContaining(attributes.number),
      bytes: expect.objectContaining({ DataType: 'Binary', BinaryValue: new Uint8Array([0, 255, 1]) }),
    });
    expect(message?.Attributes).toMatchObject({
      ApproximateReceiveCount: '1',
      SenderId: expect.any(String),
      SentTimestamp: expect.stringMatching(/^\d{13}$/),
      ApproximateFirstReceiveTimestamp: expect.stringMatching(/^\d{13}$/),
    });
  });

  test('moves a message to its dead-letter queue when it was received maxReceiveCount times, and names the source', async () => {
    const letters = await createQueue(sqs, `letters-${queues}`);
    const redrive = { deadLetterTargetArn: letters.arn, maxReceiveCount: 2 };
    await sqs.send(
      new SetQueueAttributesCommand({
        QueueUrl: queue.url,
        Attributes: { RedrivePolicy: JSON.stringify(redrive), VisibilityTimeout: '0' },
      }),
    );
    await send('poison', { keep: { DataType: 'String', StringValue: 'me' } });
    const [first] = await receive();
    const [second] = await receive();
    expect(first?.Attributes?.ApproximateReceiveCount).toBe('1');
    expect(second?.Attributes?.ApproximateReceiveCount).toBe('2');
    expect(await receive()).toEqual([]);
    const [letter] = await receive(letters.url);
    expect(letter).toMatchObject({ MessageId: first?.MessageId, Body: 'poison' });
    expect(letter?.MessageAttributes?.keep?.StringValue).toBe('me');
    expect(letter?.Attributes?.DeadLetterQueueSourceArn).toBe(queue.arn);
    await send('written, not redriven', undefined, letters.url);
    const [written] = await receive(letters.url);
    expect(written?.Attributes?.DeadLetterQueueSourceArn).toBeUndefined();
  });

  test('changes the visibility of some entries of a batch and tells which failed', async () => {
    await send('one');
    const [message] = await receive();
    const { Successful, Failed } = await sqs.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: queue.url,
        Entries: [
          { Id: 'good', ReceiptHandle: message?.ReceiptHandle, VisibilityTimeout: 0 },
          { Id: 'unknown', ReceiptHandle: 'not-a-handle', VisibilityTimeout: 0 },
          { Id: 'long', ReceiptHandle: message?.ReceiptHandle, VisibilityTimeout: 43_201 },
        ],
      }),
    );
    expect(Successful?.map(({ Id }) => Id)).toEqual(['good']);
    expect(Failed).toEqual([
      expect.objectContaining({ Id: 'unknown', Code: 'ReceiptHandleIsInvalid', SenderFault: true }),
      expect.objectContaining({ Id: 'long', Code: 'InvalidParameterValue', SenderFault: true }),
    ]);
    expect((await receive()).map(({ Body }) => Body)).toEqual(['one']);
  });

  test.for([
    ['is sent', () => send('late')],
    [
      'is delayed',
      () => sqs.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: 'late', DelaySeconds: 1 })),
    ],
  ] as const)('answers a long poll as soon as a message %s', async ([, arrive]) => {
    const poll = receive(queue.url, 20);
    await arrive();
    time.pass(1_000);
    expect((await poll).map(({ Body }) => Body)).toEqual(['late']);
  });

  test('answers a long poll when the visibility timeout of a message ends meanwhile', async () => {
    await send('again');
    const [message] = await receive();
    await setVisibility(message!, 1);
    const poll = receive(queue.url, 20);
    // The poll has begun.
    expect(await receive()).toEqual([]);
    time.pass(1_000);
    const [again] = await poll;
    expect(again?.Attributes?.ApproximateReceiveCount).toBe('2');
  });

  test.for([
    [
      '11 attributes',
      Object.fromEntries(
        Array.from({ length: 11 }, (_, n) => [`a${n}`, { DataType: 'String', StringValue: 'x' }]),
      ),
    ],
    ['an empty value', { empty: { DataType: 'String', StringValue: '' } }],
    ['an unknown type', { odd: { DataType: 'Text', StringValue: 'x' } }],
    ['a reserved name', { 'AWS.x': { DataType: 'String', StringValue: 'x' } }],
    ['a control character', { text: { DataType: 'String', StringValue: 'a\u0000b' } }],
    ['a number that is none', { count: { DataType: 'Number', StringValue: 'three' } }],
  ] as const)('refuses a message with %s, alone and within a batch', async ([, attributes]) => {
    expect(await codeOf(send('x', attributes))).toBe('InvalidParameterValue');
    const { Successful, Failed } = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: queue.url,
        Entries: [
          { Id: 'bad', MessageBody: 'bad', MessageAttributes: attributes },
          { Id: 'good', MessageBody: 'good' },
        ],
      }),
    );
    expect(Successful?.map(({ Id }) => Id)).toEqual(['good']);
    expect(Failed).toEqual([expect.objectContaining({ Id: 'bad', Code: 'InvalidParameterValue' })]);
    expect((await receive()).map(({ Body }) => Body)).toEqual(['good']);
  });

  test('is named in the error when it does not exist', async () => {
    expect(await codeOf(send('x', {}, `${queue.url}-not`))).toBe('QueueDoesNotExist');
  });

  test('refuses a body with a control character or a lone surrogate', async () => {
    expect(await codeOf(send('a\u0001'))).toBe('InvalidMessageContents');
    expect(await codeOf(send('a\ud83c'))).toBe('InvalidMessageContents');
  });
});

describe('a bucket', () => {
  test('gives back the bytes, size, type and tag of a file', async () => {
    const bytes = randomBytes(100_000);
    const key = 'folder/a name with spaces + plus & ünïcode.pdf';
    const put = new PutObjectCommand({
      Bucket: 'uploads',
      Key: key,
      Body: bytes,
      ContentType: 'application/pdf',
    });
    const { ETag } = await s3.send(put);
    const head = await s3.send(new HeadObjectCommand({ Bucket: 'uploads', Key: key }));
    const got = await s3.send(new GetObjectCommand({ Bucket: 'uploads', Key: key, IfMatch: ETag }));
    expect(head).toMatchObject({ ContentLength: 100_000, ContentType: 'application/pdf', ETag });
    expect(got).toMatchObject({ ContentLength: 100_000, ContentType: 'application/pdf', ETag });
    expect(Buffer.from(await got.Body!.transformToByteArray()).equals(bytes)).toBe(true);
  });

  test('gives a range of a file', async () => {
    await s3.send(new PutObjectCommand({ Bucket: 'uploads', Key: 'range', Body: '0123456789' }));
    const { Body, ContentRange } = await s3.send(
      new GetObjectCommand({ Bucket: 'uploads', Key: 'range', Range: 'bytes=2-4' }),
    );
    expect([await Body!.transformToString(), ContentRange]).toEqual(['234', 'bytes 2-4/10']);
  });

  test('refuses a file that changed since its tag was read', async () => {
    const key = { Bucket: 'uploads', Key: 'changing' };
    const { ETag } = await s3.send(new PutObjectCommand({ ...key, Body: 'old' }));
    await s3.send(new PutObjectCommand({ ...key, Body: 'new' }));
    expect(await codeOf(s3.send(new GetObjectCommand({ ...key, IfMatch: ETag })))).toBe('PreconditionFailed');
  });

  test('names a missing file and a missing bucket', async () => {
    expect(await codeOf(s3.send(new GetObjectCommand({ Bucket: 'uploads', Key: 'none' })))).toBe('NoSuchKey');
    expect(await codeOf(s3.send(new HeadObjectCommand({ Bucket: 'uploads', Key: 'none' })))).toBe('NotFound');
    expect(await codeOf(s3.send(new GetObjectCommand({ Bucket: 'none', Key: 'none' })))).toBe('NoSuchBucket');
  });

  test('takes a file in parts', async () => {
    const key = { Bucket: 'uploads', Key: 'parts.bin' };
    const parts = [randomBytes(5 * 1024 ** 2), randomBytes(1000)];
    const { UploadId } = await s3.send(
      new CreateMultipartUploadCommand({ ...key, ContentType: 'image/png' }),
    );
    const Parts = [];
    for (const [index, Body] of parts.entries()) {
      const part = { PartNumber: index + 1 };
      const { ETag } = await s3.send(new UploadPartCommand({ ...key, ...part, UploadId, Body }));
      Parts.push({ ...part, ETag });
    }
    await s3.send(new CompleteMultipartUploadCommand({ ...key, UploadId, MultipartUpload: { Parts } }));
    const { Body, ContentType } = await s3.send(new GetObjectCommand(key));
    const got = await Body!.transformToByteArray();
    expect(ContentType).toBe('image/png');
    expect(sha256(got)).toBe(sha256(Buffer.concat(parts)));
  });

  test('takes a large file in one request', async () => {
    const key = { Bucket: 'uploads', Key: 'large.bin' };
    const bytes = randomBytes(20 * 1024 ** 2);
    await s3.send(new PutObjectCommand({ ...key, Body: bytes }));
    const { ContentLength } = await s3.send(new HeadObjectCommand(key));
    expect(ContentLength).toBe(bytes.length);
  });
});

describe('a fault', () => {
  const name = () => queue.url.split('/').at(-1);

  test('refuses the calls that it names, as often as it says', async () => {
    await fault({ action: 'SendMessage', name: name(), times: 2, status: 503, type: 'ServiceUnavailable' });
    expect(await codeOf(send('a'))).toBe('ServiceUnavailable');
    expect(await receive()).toEqual([]);
    expect(await codeOf(send('b'))).toBe('ServiceUnavailable');
    expect(await codeOf(send('c'))).toBe('no error');
  });

  test('ends when its time is over, or it is taken away', async () => {
    await fault({ name: name(), forMs: 1_000, type: 'ThrottlingException' });
    expect(await codeOf(send('a'))).toBe('ThrottlingException');
    time.pass(1_000);
    expect(await codeOf(send('a'))).toBe('no error');
    await fault({ name: name(), status: 500 });
    expect(await codeOf(send('a'))).toBe('InternalServiceError');
    await fetch(`${aws.url}/_local/faults`, { method: 'DELETE' });
    expect(await codeOf(send('a'))).toBe('no error');
  });

  test('cuts the connection before or after the message is taken', async () => {
    await fault({ action: 'SendMessage', name: name(), times: 1, reset: 'before' });
    expect(await codeOf(send('before'))).toBe('ECONNRESET');
    await fault({ action: 'SendMessage', name: name(), times: 1, reset: 'after' });
    expect(await codeOf(send('after'))).toBe('ECONNRESET');
    expect((await receive()).map(({ Body }) => Body)).toEqual(['after']);
  });

  test('fails entries of a batch and leaves them as they were', async () => {
    await send('one');
    await send('two');
    const messages = await receive();
    await fault({ action: 'DeleteMessageBatch', name: name(), times: 1, failedEntries: 1 });
    const remove = () =>
      sqs.send(
        new DeleteMessageBatchCommand({
          QueueUrl: queue.url,
          Entries: messages.map(({ ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle })),
        }),
      );
    const { Successful, Failed } = await remove();
    expect(Successful).toEqual([{ Id: '1' }]);
    expect(Failed).toEqual([expect.objectContaining({ Id: '0', Code: 'InternalError', SenderFault: false })]);
    expect((await remove()).Failed).toEqual([]);
  });

  test('cuts a file off in the middle', async () => {
    await s3.send(new PutObjectCommand({ Bucket: 'uploads', Key: 'cut', Body: randomBytes(1_000_000) }));
    await fault({ action: 'GetObject', name: 'uploads/cut', times: 1, truncate: true });
    const { Body, ContentLength } = await s3.send(new GetObjectCommand({ Bucket: 'uploads', Key: 'cut' }));
    expect(ContentLength).toBe(1_000_000);
    expect(await codeOf(Body!.transformToByteArray())).toBe('ECONNRESET');
  });

  test('refuses a file', async () => {
    await s3.send(new PutObjectCommand({ Bucket: 'uploads', Key: 'refused', Body: 'x' }));
    await fault({ action: 'GetObject', times: 1, status: 403, type: 'AccessDenied' });
    expect(await codeOf(s3.send(new GetObjectCommand({ Bucket: 'uploads', Key: 'refused' })))).toBe(
      'AccessDenied',
    );
  });

  test('that is misspelt is refused', async () => {
    const answer = await fault({ action: 'SendMessage', time: 1 });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('time');
  });
});

function sha256(bytes: Uint8Array) {
  return createHash('sha256').update(bytes).digest('hex');
}

test('the bucket’s calendar dates what is put', async () => {
  const datedBy = async (now: string | null): Promise<Date | undefined> => {
    await fetch(`${aws.url}/_local/calendar`, { method: 'POST', body: JSON.stringify({ now }) });
    const object = { Bucket: 'uploads', Key: 'dated' };
    await s3.send(new PutObjectCommand({ ...object, Body: 'x' }));
    return (await s3.send(new HeadObjectCommand(object))).LastModified;
  };
  expect(await datedBy('2026-02-03T02:00:00Z')).toEqual(new Date('2026-02-03T02:00:00Z'));
  expect(Date.now() - Number(await datedBy(null))).toBeLessThan(60_000);
});
