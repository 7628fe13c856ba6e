import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { localClient, localRegion, startQueuesAndFiles } from '../../local/aws/aws.ts';
import { listening } from '../../local/aws/listening.ts';
import { filesIn } from '../../local/bucket.ts';
import type { Template } from '../cloudformation.ts';

const bucket = 'deployment-bucket';

/**
 * What a deployment meets in an account of AWS that holds nothing yet: S3 as it is, and of CloudFormation and Lambda the
 * answers alone. Whatever CloudFormation is told to make, it says at once that it made it.
 */
export async function startEmptyAccount() {
  const files = await startQueuesAndFiles();
  const s3 = new S3Client({ ...localClient(files.url), forcePathStyle: true });
  const updatedFunctions: Record<string, string> = {};
  let stack: string | undefined;
  let event = 'CREATE_COMPLETE';
  let isProtected = false;
  const tags: Record<string, string> = {};
  let resources: Template['Resources'] | undefined;
  let outputs: Template['Outputs'] = {};
  let containers = 1_000;

  type Answer = string | undefined;
  const answerOf: Record<string, (form: URLSearchParams) => Answer | Promise<Answer>> = {
    GetCallerIdentity: () => '<Account>000000000000</Account><Arn>arn:aws:iam::000000000000:user/local</Arn>',
    DescribeStacks: () => stack && described(stack, event, { isProtected, outputs }),
    CreateChangeSet: (form) => {
      stack = form.get('StackName') ?? '';
      event = `${form.get('ChangeSetType')}_COMPLETE`;
      for (const [name, key] of form)
        if (/^Tags\.member\.\d+\.Key$/.test(name)) tags[key] = form.get(name.replace(/Key$/, 'Value')) ?? '';
      return `<StackId>${stack}</StackId>`;
    },
    DescribeChangeSet: () => `<StackId>${stack}</StackId><Status>CREATE_COMPLETE</Status>`,
    ExecuteChangeSet: async () => {
      const template: Template = JSON.parse(
        `${(await uploads())['compiled-cloudformation-template.json'] ?? '{}'}`,
      );
      outputs = template.Outputs;
      return '';
    },
    DeleteChangeSet: () => '',
    ValidateTemplate: () => '',
    DescribeStackEvents: () => `<StackEvents><member>${eventOf(stack ?? '', event)}</member></StackEvents>`,
    ListStackResources: () => '',
    UpdateTerminationProtection: (form) => {
      isProtected = form.get('EnableTerminationProtection') === 'true';
      return `<StackId>${stack}</StackId>`;
    },
    DeleteStack: () => {
      if (isProtected) return undefined;
      event = 'DELETE_COMPLETE';
      return '';
    },
    DescribeStackResource: () =>
      `<StackResourceDetail><PhysicalResourceId>${bucket}</PhysicalResourceId></StackResourceDetail>`,
  };

  const server = createServer(async (request, response) => {
    const { method, url = '' } = request;
    if (/\/account-settings\/?$/.test(url)) {
      response.writeHead(200, { 'content-type': 'application/json' });
      const AccountLimit = { ConcurrentExecutions: containers, UnreservedConcurrentExecutions: containers };
      return response.end(JSON.stringify({ AccountLimit }));
    }
    const [, name, update] = /^\/2015-03-31\/functions\/([^/]+)(\/code)?/.exec(url) ?? [];
    if (name !== undefined) {
      if (update && method === 'PUT') updatedFunctions[name] = JSON.parse(await text(request)).ZipFile;
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify(functionOf(name)));
    }
    if (request.headers['x-amz-target']?.toString().startsWith('AmazonEC2ContainerRegistry')) {
      response.writeHead(400, { 'content-type': 'application/x-amz-json-1.1' });
      return response.end('{"__type":"RepositoryNotFoundException"}');
    }
    const form = await formOf(request);
    const action = form.get('Action') ?? `${method} ${url}`;
    const answer = await answerOf[action]?.(form);
    response.writeHead(answer === undefined ? 400 : 200, { 'content-type': 'text/xml' });
    return response.end(
      answer === undefined
        ? refusal(`Stack with id ${form.get('StackName')} does not exist`)
        : `<${action}Response><${action}Result>${answer}</${action}Result></${action}Response>`,
    );
  });
  const { url, close } = await listening(server);
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));

  const uploads = async () => {
    const files = await filesIn(() => ({ s3, description: { bucket } })).filesUnder();
    return Object.fromEntries(Object.entries(files).map(([key, bytes]) => [key.split('/').at(-1), bytes]));
  };

  return {
    /** The environment in which AWS' clients come here and nowhere else. */
    environment: {
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_REGION: localRegion,
      AWS_ENDPOINT_URL: url,
      AWS_ENDPOINT_URL_S3: files.url,
      SLS_AWS_MONITORING_FREQUENCY: '50',
    },
    /** What Lambda runs at once. */
    limit: (most: number): void => {
      containers = most;
    },
    /** Does what the AWS CLI would, given as its words. */
    aws: async ([service, action = '', ...options]: string[]) => {
      if (service !== 'cloudformation' || action !== 'update-termination-protection')
        throw new Error(`aws ${service} ${action} is not known here`);
      const [flag, , name = ''] = options;
      if (name !== stack) throw new Error(`There is no stack ${name}`);
      isProtected = flag === '--enable-termination-protection';
    },
    /** What there is of the stack: after its end what it leaves behind. */
    resources: async () => {
      resources ??= JSON.parse(`${(await uploads())['compiled-cloudformation-template.json']}`).Resources;
      const all = Object.entries(resources ?? {});
      const isLeft = ([, { DeletionPolicy = '' }]: (typeof all)[number]) =>
        DeletionPolicy.startsWith('Retain');
      return Object.fromEntries(event === 'DELETE_COMPLETE' ? all.filter(isLeft) : all);
    },
    /** Of the stack. */
    tags,
    output: (name: string) => outputs?.[name]?.Value,
    /** The zips that functions were given beside a deployment, in Base64. */
    updatedFunctions,
    /** What was uploaded, by the name of its file. */
    uploads,
    close: async () => {
      s3.destroy();
      await close();
      await files.close();
    },
  };
}

const formOf = async (request: IncomingMessage) => new URLSearchParams(await text(request));

type Stack = { isProtected: boolean; outputs: Template['Outputs'] };

/** With those outputs that are a text already. */
const described = (name: string, status: string, { isProtected, outputs = {} }: Stack) => {
  const members = Object.entries(outputs).flatMap(([key, { Value }]) =>
    typeof Value === 'string'
      ? [`<member><OutputKey>${key}</OutputKey><OutputValue>${Value}</OutputValue></member>`]
      : [],
  );
  return `<Stacks><member><StackName>${name}</StackName><StackId>${name}</StackId><StackStatus>${status}</StackStatus><EnableTerminationProtection>${isProtected}</EnableTerminationProtection><Outputs>${members.join('')}</Outputs></member></Stacks>`;
};

const eventOf = (name: string, status: string) =>
  `<EventId>${status}</EventId><StackName>${name}</StackName><LogicalResourceId>${name}</LogicalResourceId><ResourceType>AWS::CloudFormation::Stack</ResourceType><ResourceStatus>${status}</ResourceStatus>`;

const refusal = (message: string) =>
  `<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>${message}</Message></Error></ErrorResponse>`;

const functionOf = (name: string) => ({
  Configuration: {
    FunctionName: name,
    Role: `arn:aws:iam::000000000000:role/${name}-1A2B3C`,
    State: 'Active',
    LastUpdateStatus: 'Successful',
    CodeSha256: 'old',
  },
  FunctionName: name,
  State: 'Active',
  LastUpdateStatus: 'Successful',
});
