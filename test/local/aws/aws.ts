import { S3Client } from '@aws-sdk/client-s3';
import { CreateQueueCommand, type QueueAttributeName, type SQSClient } from '@aws-sdk/client-sqs';
import { buildApp } from 'fauxqs';
import { traced } from '../../../lib/runtime/aws/error.ts';
import { serveHere } from '../platform/servers-here.ts';
import { type Fault, faultList, refusalOf, suffer } from './faults.ts';
import { withoutHttp } from './files-here.ts';
import { tellDate } from './listening.ts';
import { tellOfObjects } from './object-notices.ts';
import { keepVersions } from './object-versions.ts';
import {
  acceptEveryPlane,
  fauxqsInternals,
  nameErrorsAsSqs,
  nameRedriveSource,
  type Request,
  refuseAsSqs,
  type S3Store,
  type Stores,
  sqsAction,
} from './sqs-fidelity.ts';

export const localRegion = 'us-east-1';

type App = ReturnType<typeof buildApp>;

/**
 * SQS and S3 by fauxqs, on a free port of 127.0.0.1. `POST` and `DELETE /_local/faults` on the same port make their calls
 * fail, as faults.ts tells: by action (SendMessage, GetObject, ...) and by the name of the queue or `bucket/key`.
 * `POST /_local/calendar` with `{ "now": "2026-11-01T02:00:00Z" }` has files that are put from then on be of that time.
 */
export async function startQueuesAndFiles() {
  const { newSqsStore, newS3Store, invalidCharacter } = await fauxqsInternals();
  const sqsStore = newSqsStore();
  const s3Store = newS3Store();
  // With a host of its own, fauxqs gives queues addresses under sqs.<region>.localhost, which not every resolver knows.
  sqsStore.host = '';
  const app = buildApp({
    logger: false,
    defaultRegion: localRegion,
    stores: { sqsStore, s3Store } as Stores,
  });
  app.addHook('onRequest', async (_request, reply) => tellDate(reply.raw));
  acceptLargeFiles(app);
  acceptCalendar(app, s3Store);
  acceptEveryPlane(invalidCharacter);
  const { list, met: faults } = acceptFaults(app);
  refuseAsSqs(app, (request) => faults.get(request)?.failedEntries ?? 0);
  nameErrorsAsSqs(app);
  nameRedriveSource(app, sqsStore);
  // After the faults, which are told by keys.
  const versionOf = keepVersions(app, s3Store);
  const onObject = tellOfObjects(app, localRegion);
  // fauxqs' own start would listen on every interface of the machine.
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  serveHere(url, app.server, list.needsSocket);
  // Its errors know their call, as those of a function's own client.
  const client = traced(new S3Client({ ...localClient(url), forcePathStyle: true }));
  const { host, port } = new URL(url);
  return {
    url,
    onObject,
    /** What is on the queues, with its ids and times. */
    queues: sqsStore,
    /** As `createQueue`, without HTTP: for who makes many. */
    newQueue: (name: string): QueueAddress => {
      const arn = `arn:aws:sqs:${localRegion}:000000000000:${name}`;
      const queueUrl = sqsStore.buildQueueUrl(name, port, host, localRegion);
      sqsStore.createQueue(name, queueUrl, arn, {}, {});
      return { url: queueUrl, arn };
    },
    /** For who is in this process; of what is put by it there are no notices. */
    files: withoutHttp(client, { store: s3Store, versionOf, hasFaults: list.isAny }),
    close: async (): Promise<void> => {
      client.destroy();
      await app.close();
    },
  };
}

/** What an SDK client needs, to speak to a local server in place of AWS. */
export function localClient(url: string) {
  return {
    endpoint: url,
    region: localRegion,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  };
}

type QueueAddress = { url: string; arn: string };

export async function createQueue(
  sqs: SQSClient,
  name: string,
  attributes: Partial<Record<QueueAttributeName, string>> = {},
): Promise<QueueAddress> {
  const { QueueUrl: url = '' } = await sqs.send(
    new CreateQueueCommand({ QueueName: name, Attributes: attributes }),
  );
  const [, account] = new URL(url).pathname.split('/');
  return { url, arn: `arn:aws:sqs:${localRegion}:${account}:${name}` };
}

/** S3 takes 5 GB in one request, fauxqs alone no more than 11 MiB. */
function acceptLargeFiles(app: App) {
  app.removeContentTypeParser('*');
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 1024 ** 3 }, (_request, body, done) =>
    done(null, body),
  );
}

/** A whole term can pass in minutes. */
function acceptCalendar(app: App, store: S3Store) {
  let now: Date | undefined;
  const put = store.putObject.bind(store);
  store.putObject = (...given) => {
    const object = put(...given);
    if (now !== undefined) object.lastModified = now;
    return object;
  };
  app.post('/_local/calendar', async (request, reply) => {
    const { now: given } = JSON.parse(String(request.body)) as { now: string | null };
    now = given === null ? undefined : new Date(given);
    return reply.code(204).send();
  });
}

function acceptFaults(app: App) {
  const list = faultList();
  const met = new WeakMap<Request, Fault>();

  app.route({
    method: ['POST', 'DELETE'],
    url: '/_local/faults',
    handler: (request, reply) => {
      reply.hijack();
      list.control(request.method, String(request.body), reply.raw);
    },
  });
  app.addHook('preHandler', async (request, reply) => {
    if (request.url.startsWith('/_local/')) return;
    const call = callOf(request);
    const fault = list.take(call.action, call.name);
    if (!fault) return;
    met.set(request, fault);
    if (!(await suffer(fault, reply.raw))) return reply.hijack();
    const refusal = refusalOf(fault);
    if (!refusal) return;
    if (sqsAction(request)) {
      reply.header('content-type', 'application/x-amz-json-1.0');
      return reply
        .code(refusal.status)
        .send({ __type: `com.amazonaws.sqs#${refusal.type}`, message: 'a local fault' });
    }
    reply.header('content-type', 'application/xml');
    return reply
      .code(refusal.status)
      .send(`<Error><Code>${refusal.type}</Code><Message>a local fault</Message></Error>`);
  });
  return { list, met };
}

/** The name is that of the queue, or `bucket/key`. */
function callOf(request: Request): { action: string; name: string } {
  const action = sqsAction(request);
  if (action) {
    const { QueueUrl, QueueName } = request.body as { QueueUrl?: string; QueueName?: string };
    return { action, name: QueueUrl?.split('/').at(-1) ?? QueueName ?? '' };
  }
  const { bucket = '', '*': key = '' } = request.params as Record<string, string>;
  return { action: fileActions[request.method] ?? request.method, name: `${bucket}/${key}` };
}

const fileActions: Record<string, string> = {
  GET: 'GetObject',
  HEAD: 'HeadObject',
  PUT: 'PutObject',
  DELETE: 'DeleteObject',
};
