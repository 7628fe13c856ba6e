import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listening } from '../../local/aws/listening.ts';
import type { StackDescription } from '../../local/stack.ts';
import type { AwsCall } from '../policies.ts';

type Options = {
  /** What is not allowed is refused, as IAM does. */
  isAllowed?(call: AwsCall): boolean;
};

/** Stands between a caller and the stack's AWS, and writes down every call as IAM would judge it. */
export async function recordAwsCalls(stack: StackDescription, { isAllowed = () => true }: Options = {}) {
  const calls: AwsCall[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    // Whoever only opens a connection to DynamoDB asks for nothing that needs a right.
    if (request.url === '/' && !request.headers.authorization) return void response.end('healthy');
    const service = serviceOf(request);
    const call = callOf[service](request, body, stack.region);
    calls.push(call);
    if (!isAllowed(call)) return refuse(response, service, call);
    if (service === 'logs' || service === 'cloudwatch') {
      const { type, body: none } = nothingKept[service];
      return void response.writeHead(200, { 'content-type': `application/x-amz-json-${type}` }).end(none);
    }
    const { method, headers, url = '/' } = request;
    const onward = send(new URL(url, stack[service]), { method, headers }, async (answer) => {
      // The address of a queue that SQS tells leads past here.
      const isQueueUrl = operationOf(request) === 'GetQueueUrl';
      const isMapping = call.action === 'lambda:UpdateEventSourceMapping';
      const recorded =
        isQueueUrl || isMapping
          ? `${await buffer(answer)}`.replace(stack.sqs, `http://${headers.host}`)
          : undefined;
      // Whose mapping it is the answer alone tells.
      if (isMapping) call.context = { 'lambda:FunctionArn': JSON.parse(recorded ?? '').FunctionArn };
      const { 'content-length': length, ...others } = answer.headers;
      response.writeHead(
        answer.statusCode ?? 502,
        recorded === undefined && length ? answer.headers : others,
      );
      if (recorded === undefined) answer.pipe(response);
      else response.end(recorded);
    });
    onward.on('error', () => response.destroy());
    onward.end(body);
  });
  return { ...(await listening(server)), calls };
}

export type Recorder = Awaited<ReturnType<typeof recordAwsCalls>>;

type Telemetry = 'logs' | 'cloudwatch';
const nothingKept: Record<Telemetry, { type: string; body: string }> = {
  logs: { type: '1.1', body: '{"events":[]}' },
  cloudwatch: { type: '1.0', body: '{"MetricDataResults":[]}' },
};
type Service = 'sqs' | 's3' | 'secretsManager' | 'dynamodb' | 'lambda';

const target = (request: IncomingMessage): string => `${request.headers['x-amz-target'] ?? ''}`;

function serviceOf(request: IncomingMessage): Service | Telemetry {
  const [api = ''] = target(request).split('.');
  if (/^\/20\d\d-\d\d-\d\d\//.test(request.url ?? '')) return 'lambda';
  if (api === '') return 's3';
  const services: Record<string, Service | Telemetry> = {
    AmazonSQS: 'sqs',
    secretsmanager: 'secretsManager',
    DynamoDB_20120810: 'dynamodb',
    Logs_20140328: 'logs',
    GraniteServiceVersion20100801: 'cloudwatch',
  };
  const service = services[api];
  if (!service) throw new Error(`Calls of ${api} are not known here`);
  return service;
}

/** As AWS words it, in the form of each service. */
const refuse = (
  response: ServerResponse,
  service: Service | Telemetry,
  { action, resource }: AwsCall,
): void => {
  const message = `User: arn:aws:sts::${account}:assumed-role/a-role/lena is not authorized to perform: ${action} on resource: ${resource}`;
  if (service === 's3') {
    const error = `<Error><Code>AccessDenied</Code><Message>${message}</Message></Error>`;
    return void response.writeHead(403, { 'content-type': 'application/xml' }).end(error);
  }
  const name = service === 'sqs' ? 'AccessDenied' : 'AccessDeniedException';
  response
    .writeHead(service === 'lambda' ? 403 : 400, {
      'content-type': 'application/x-amz-json-1.0',
      'x-amzn-errortype': name,
    })
    .end(JSON.stringify({ __type: name, message, Message: message }));
};

type Reader = (request: IncomingMessage, body: Buffer, region: string) => AwsCall;

const account = '000000000000';
const operationOf = (request: IncomingMessage): string => target(request).split('.')[1] ?? '';

/** What each call is about, and the action that it takes: IAM has one for a call and its batch. */
const callOf: Record<Service | Telemetry, Reader> = {
  logs: (request, body, region) => {
    const { logGroupName } = JSON.parse(`${body}`) as { logGroupName: string };
    const resource = `arn:aws:logs:${region}:${account}:log-group:${logGroupName}`;
    return { action: `logs:${operationOf(request)}`, resource };
  },
  cloudwatch: (request) => ({ action: `cloudwatch:${operationOf(request)}`, resource: '*' }),
  sqs: (request, body, region) => {
    const { QueueUrl, QueueName } = JSON.parse(`${body}`) as Record<string, string>;
    return {
      action: `sqs:${operationOf(request).replace(/Batch$/, '')}`,
      resource: `arn:aws:sqs:${region}:${account}:${QueueName ?? QueueUrl?.split('/').at(-1)}`,
    };
  },
  secretsManager: (request, body, region) => {
    const { SecretId, Name } = JSON.parse(`${body}`) as Record<string, string>;
    const name = SecretId ?? Name ?? '';
    return {
      action: `secretsmanager:${operationOf(request)}`,
      resource: name.startsWith('arn:')
        ? name
        : `arn:aws:secretsmanager:${region}:${account}:secret:${name}-AbCdEf`,
    };
  },
  dynamodb: (request, body, region) => {
    type Named = Record<string, { S: string }>;
    type Input = { TableName?: string; IndexName?: string; Key?: Named; Item?: Named; RequestItems?: object };
    const { TableName, IndexName, Item, Key = Item, RequestItems = {} } = JSON.parse(`${body}`) as Input;
    const table = TableName ?? Object.keys(RequestItems).join();
    const key = Key?.resource ?? Key?.message ?? Key?.bucket;
    return {
      action: `dynamodb:${operationOf(request)}`,
      resource: `arn:aws:dynamodb:${region}:${account}:table/${table}${IndexName === undefined ? '' : `/index/${IndexName}`}`,
      ...(key && { context: { 'dynamodb:LeadingKeys': key.S } }),
    };
  },
  lambda: ({ url = '', method }, _body, region) => {
    const { pathname, searchParams } = new URL(url, 'http://lambda');
    const [, , kind = '', about = '', verb = ''] = pathname.split('/');
    if (kind === 'event-source-mappings')
      return {
        action: `lambda:${method === 'PUT' ? 'UpdateEventSourceMapping' : 'ListEventSourceMappings'}`,
        resource: `arn:aws:lambda:${region}:${account}:event-source-mapping:${about}`,
      };
    if (kind === 'durable-execution-callbacks') {
      const asked = JSON.parse(Buffer.from(decodeURIComponent(about), 'base64').toString());
      return { action: 'lambda:SendDurableExecutionCallbackSuccess', resource: asked.executionArn };
    }
    const actions: Record<string, string> = {
      'functions invocations': 'InvokeFunction',
      'durable-executions checkpoint': 'CheckpointDurableExecution',
      'durable-executions state': 'GetDurableExecutionState',
      'functions durable-executions': 'ListDurableExecutionsByFunction',
      'functions versions': 'ListVersionsByFunction',
      'durable-executions ': 'GetDurableExecution',
    };
    const version = searchParams.get('Qualifier');
    const named = `${decodeURIComponent(about)}${version === null ? '' : `:${version}`}`;
    return {
      action: `lambda:${actions[`${kind} ${verb}`] ?? url}`,
      // A function may be called by its name alone, with an alias behind it.
      resource: named.startsWith('arn:') ? named : `arn:aws:lambda:${region}:${account}:function:${named}`,
    };
  },
  s3: ({ method = '', url = '' }) => {
    const { pathname, searchParams } = new URL(url, 'http://s3');
    const [, bucket = '', key = ''] = /^\/([^/]+)\/?(.*)$/.exec(decodeURIComponent(pathname)) ?? [];
    if (key === '')
      return {
        action: 's3:ListBucket',
        resource: `arn:aws:s3:::${bucket}`,
        context: { 's3:prefix': searchParams.get('prefix') ?? '' },
      };
    const actions: Record<string, string> = {
      GET: 's3:GetObject',
      HEAD: 's3:GetObject',
      PUT: 's3:PutObject',
      POST: 's3:PutObject',
      DELETE: searchParams.has('uploadId') ? 's3:AbortMultipartUpload' : 's3:DeleteObject',
    };
    // A right of its own.
    if (searchParams.has('versionId') && /^(GET|HEAD)$/.test(method))
      return { action: 's3:GetObjectVersion', resource: `arn:aws:s3:::${bucket}/${key}` };
    return { action: actions[method] ?? `s3:${method}`, resource: `arn:aws:s3:::${bucket}/${key}` };
  },
};
