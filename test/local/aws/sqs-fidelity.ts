import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { buildApp } from 'fauxqs';

type App = ReturnType<typeof buildApp>;
export type Request = {
  method: string;
  headers: Record<string, string | string[] | undefined>;
  params: unknown;
  body: unknown;
};
export type Stores = NonNullable<NonNullable<Parameters<typeof buildApp>[0]>['stores']>;
type SqsStore = Stores['sqsStore'];
export type S3Store = Stores['s3Store'];
type Message = { MessageAttributes?: Record<string, MessageAttributeValue>; DelaySeconds?: number };
type FailedEntry = { Id: string; SenderFault: boolean; Code: string; Message: string };

/** fauxqs exports its server alone; its version is pinned, so that these paths stay what they are. */
export async function fauxqsInternals() {
  const dist = import.meta.resolve('fauxqs');
  const { SqsStore } = await import(new URL('sqs/sqsStore.js', dist).href);
  const { S3Store } = await import(new URL('s3/s3Store.js', dist).href);
  const { INVALID_MESSAGE_BODY_CHAR } = await import(new URL('sqs/sqsTypes.js', dist).href);
  return {
    newSqsStore: (): SqsStore => new SqsStore(),
    newS3Store: (): S3Store => new S3Store(),
    invalidCharacter: INVALID_MESSAGE_BODY_CHAR as RegExp,
  };
}

/** An emoji is two UTF-16 units, which fauxqs' expression refuses one by one; SQS takes every plane of Unicode. */
export function acceptEveryPlane(invalidCharacter: RegExp) {
  invalidCharacter.test = (text) => notInSqs.test(text);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: SQS takes tab, line feed and carriage return.
const notInSqs = /[^\x09\x0A\x0D\x20-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;

/**
 * SQS refuses message attributes that fauxqs lets pass: a letter that can be written here could not be written there.
 * `failing` says how many entries of a batch call fail for no fault of the sender.
 */
export function refuseAsSqs(app: App, failing: (request: Request) => number) {
  const failed = new WeakMap<Request, FailedEntry[]>();

  app.addHook('preHandler', async (request, reply) => {
    const action = sqsAction(request);
    const body = request.body as Message & { Entries?: (Message & { Id: string })[] };
    if (action === 'SendMessage') {
      const problem = problemOf(body);
      if (!problem) return;
      reply.header('content-type', 'application/x-amz-json-1.0');
      reply.header('x-amzn-query-error', 'InvalidParameterValue;Sender');
      return reply.code(400).send({ __type: 'com.amazonaws.sqs#InvalidParameterValue', message: problem });
    }
    if (!action?.endsWith('Batch') || !body.Entries) return;
    const refused = body.Entries.flatMap(
      (entry, index) => failedEntry(entry, index < failing(request)) ?? [],
    );
    if (refused.length === 0) return;
    failed.set(request, refused);
    body.Entries = body.Entries.filter(({ Id }) => !refused.some((entry) => entry.Id === Id));
    if (body.Entries.length > 0) return;
    reply.header('content-type', 'application/x-amz-json-1.0');
    return reply.send({});
  });

  app.addHook<{ Successful?: []; Failed?: FailedEntry[]; __type?: string }>(
    'preSerialization',
    async (request, _reply, payload) => {
      const refused = failed.get(request);
      if (!refused || !payload || payload.__type) return payload;
      return { Successful: payload.Successful ?? [], Failed: [...(payload.Failed ?? []), ...refused] };
    },
  );
}

/** fauxqs puts AWS.SimpleQueueService. before every code, SQS before some; the SDK names its errors by this header. */
export function nameErrorsAsSqs(app: App) {
  app.addHook('onSend', async (_request, reply) => {
    const code = reply.getHeader('x-amzn-query-error')?.toString();
    const bare = code?.match(
      /^AWS\.SimpleQueueService\.((?:Invalid(?!BatchEntryId)|MissingParameter).*)$/,
    )?.[1];
    if (bare) reply.header('x-amzn-query-error', bare);
  });
}

/** Messages that SQS itself moved to a dead-letter queue name the queue they came from; fauxqs' do not. */
export function nameRedriveSource(app: App, store: SqsStore) {
  const sources = new Map<string, string>();
  // fauxqs' queues take this on, when they are made, and tell it what becomes of each message.
  store.spy = {
    addMessage({ queueName, messageId, status }: { queueName: string; messageId: string; status: string }) {
      if (status === 'dlq') sources.set(messageId, store.getQueueByName(queueName)?.arn ?? '');
      if (status === 'consumed') sources.delete(messageId);
    },
  } as NonNullable<SqsStore['spy']>;

  app.addHook<{ Messages?: { MessageId: string; Attributes?: Record<string, string> }[] }>(
    'preSerialization',
    async (request, _reply, payload) => {
      if (sqsAction(request) !== 'ReceiveMessage' || !wantsSource(request.body)) return payload;
      for (const message of payload?.Messages ?? []) {
        const source = sources.get(message.MessageId);
        if (source) message.Attributes = { ...message.Attributes, DeadLetterQueueSourceArn: source };
      }
      return payload;
    },
  );
}

export function sqsAction(request: Request): string | undefined {
  return request.headers['x-amz-target']?.toString().replace('AmazonSQS.', '');
}

function wantsSource(body: unknown) {
  const { AttributeNames = [], MessageSystemAttributeNames = [] } = body as Record<string, string[]>;
  const names = [...AttributeNames, ...MessageSystemAttributeNames];
  return names.includes('All') || names.includes('DeadLetterQueueSourceArn');
}

function failedEntry(entry: Message & { Id: string }, failing: boolean): FailedEntry | null {
  if (failing) return { Id: entry.Id, SenderFault: false, Code: 'InternalError', Message: 'a local fault' };
  const problem = problemOf(entry);
  return problem === null
    ? null
    : { Id: entry.Id, SenderFault: true, Code: 'InvalidParameterValue', Message: problem };
}

function problemOf({ MessageAttributes = {}, DelaySeconds = 0 }: Message): string | null {
  const attributes = Object.entries(MessageAttributes);
  if (DelaySeconds < 0 || DelaySeconds > 900) return `DelaySeconds ${DelaySeconds} is not between 0 and 900.`;
  if (attributes.length > 10)
    return `Number of message attributes [${attributes.length}] exceeds the allowed maximum [10].`;
  return (
    attributes.map(([name, value]) => attributeProblem(name, value)).find((problem) => problem !== null) ??
    null
  );
}

function attributeProblem(name: string, { DataType = '', StringValue, BinaryValue }: MessageAttributeValue) {
  const [type = ''] = DataType.split('.');
  if (!/^(?!aws\.|amazon\.)(?!\.)(?!.*\.\.)[\w.-]{1,256}(?<!\.)$/i.test(name)) {
    return `The message attribute name '${name}' is invalid.`;
  }
  if (!['String', 'Number', 'Binary'].includes(type))
    return `The type of message attribute '${name}' is invalid.`;
  if (!(type === 'Binary' ? BinaryValue : StringValue)?.length) {
    return `Message attribute '${name}' must contain a non-empty value of type '${type}'.`;
  }
  if (StringValue && notInSqs.test(StringValue))
    return `Message attribute '${name}' holds invalid characters.`;
  if (type === 'Number' && Number.isNaN(Number(StringValue)))
    return `Message attribute '${name}' is not a number.`;
  return null;
}
