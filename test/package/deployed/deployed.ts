import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { waitLimitMs } from '../../limits.ts';
import { linkBinding } from '../../local/lambda/bundles.ts';
import { mapQueue } from '../../local/lambda/event-source-mapping.ts';
import { type FunctionConfiguration, type InvokeResult, startLambda } from '../../local/lambda/lambda.ts';
import { createFollower } from '../../local/scenarios/play.ts';
import { type StackDescription, settingsOf, startStack } from '../../local/stack.ts';
import { deploy } from '../cloudformation.ts';
import type { Packaged } from '../packaged.ts';
import { type Recorder, recordAwsCalls } from './aws-recorder.ts';
import { unzip } from './zip.ts';

type Options = {
  /** In place of what the template says of every function. */
  change?: Partial<Omit<FunctionConfiguration, 'env'>>;
  /** Besides what the template and the local stack set. */
  settings?: Record<string, string>;
  visibilitySeconds?: number;
  /** Where a function lies, bundled; by default it is what its zip holds. */
  code?(name: string): string;
};

/** The functions of a packaged template, brought to life on this machine: zips, settings, limits and mappings. */
export async function deployLocally(
  packaged: Packaged,
  { change = {}, settings = {}, code, ...options }: Options = {},
) {
  // With more than one page of records, so that they are all asked for.
  const stack = await startStack({ functions: false, durable: { pageSize: 2 }, ...options });
  const deployment = deploy(packaged.template);
  const unpacked = await mkdtemp(join(tmpdir(), 'sis-relay-deployed-'));
  const recorders: Record<string, Recorder> = {};
  const functions: Record<string, FunctionConfiguration> = {};

  for (const {
    id,
    FunctionName,
    Handler,
    Timeout,
    MemorySize,
    Environment,
    DurableConfig,
  } of deployment.ofType('AWS::Lambda::Function')) {
    const name = FunctionName.replace('sis-relay-local-', '');
    const recorder = await recordAwsCalls(stack.description);
    recorders[name] = recorder;
    functions[name] = {
      handler: Handler,
      taskRoot: code?.(name) ?? (await unpack(packaged, name, join(unpacked, name))),
      timeoutMs: Timeout * 1000,
      memoryMb: MemorySize,
      maximumConcurrency: 2,
      ...change,
      ...(DurableConfig && {
        durable: {
          functionArn: deployment.arnOf(id),
          executionTimeoutMs: DurableConfig.ExecutionTimeout * 1000,
        },
      }),
      env: { ...deployedSettings(Environment.Variables, { ...stack, name, url: recorder.url }), ...settings },
    };
  }

  const lines: string[] = [];
  const metricWriters = new Set<string>();
  const follower = createFollower();
  const onLog = (name: string, line: string): void => {
    lines.push(line);
    if (line.includes('"_aws"')) metricWriters.add(name);
    follower.onLog(name, line);
  };
  const lambda = await startLambda({ functions, onLog, executions: stack.executions });
  const results: { name: string; result: InvokeResult }[] = [];
  for (const mapping of deployment.ofType('AWS::Lambda::EventSourceMapping')) {
    const functionName: string = mapping.EventSourceArn.split(':').at(-1);
    const name = functionName.replace('sis-relay-local-', '');
    const { EventSourceArn: queueArn, BatchSize: batchSize } = mapping;
    const invoke = async (event: object) => {
      const result = await lambda.invoke(name, event);
      results.push({ name, result });
      return result;
    };
    stack.executions.mappings.add({
      functionName,
      queueArn,
      batchSize,
      start: () =>
        mapQueue({
          sqs: stack.sqs,
          queueArn,
          batchSize,
          invoke,
          queueUrl: stack.description.queues[name] ?? '',
          pollers: mapping.ScalingConfig.MaximumConcurrency,
          onError: () => {},
        }),
    });
  }

  return {
    stack,
    lambda,
    deployment,
    functions,
    lines,
    /** The functions that have written metrics. */
    metricWriters,
    /** The types of the errors that a function's invocations ended with. */
    errorsOf: (name: string): string[] =>
      results.flatMap((each) => (each.name === name && !each.result.ok ? [each.result.error.errorType] : [])),
    callsOf: (name: string) => recorders[name]?.calls ?? [],
    /** Sends a message, and tells when it waits and how it ends. */
    send: async (name: string, body: string) => {
      const QueueUrl = stack.description.queues[name];
      const { MessageId: id = '' } = await stack.sqs.send(
        new SendMessageCommand({ QueueUrl, MessageBody: body }),
      );
      const { waiting, end } = follower.follow(id, name);
      const soon = <Met>(what: string, met: Promise<Met>): Promise<Met> => {
        const late = Promise.withResolvers<never>();
        const fail = () =>
          late.reject(
            new Error([`${name}: ${id} ${what}`, ...lines.filter((line) => line.includes(id))].join('\n')),
          );
        const timer = setTimeout(fail, waitLimitMs);
        return Promise.race([met, late.promise]).finally(() => clearTimeout(timer));
      };
      return {
        id,
        isSeen: () => soon('was not seen', Promise.race([waiting.promise, end.promise])),
        waits: () => soon('was not made to wait', waiting.promise),
        ends: () => soon('was not brought to its end', end.promise),
      };
    },
    close: async () => {
      await stack.executions.mappings.stop();
      await lambda.close();
      await Promise.all([stack.close(), ...Object.values(recorders).map((recorder) => recorder.close())]);
      await rm(unpacked, { recursive: true });
    },
  };
}

export type Deployed = Awaited<ReturnType<typeof deployLocally>>;

/** What the template sets of a function, which reaches AWS by this address. The template alone names what the stage has. */
const deployedSettings = (
  variables: Record<string, unknown>,
  { description, name, url }: { description: StackDescription; name: string; url: string },
): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(settingsOf(description, name)).filter(([setting]) => !namesPartOfStage(setting)),
  ),
  ...localised(variables, url),
  PLATFORM_URL: description.platform,
  QUEUE_VISIBILITY_SECONDS: String(description.visibilitySeconds),
  ...Object.fromEntries(services.map((service) => [`AWS_ENDPOINT_URL_${service}`, url])),
});

const namesPartOfStage = (setting: string): boolean =>
  /(QUEUE_URL|_TABLE|_BUCKET|_SECRET|SECRET_PREFIX)$/.test(setting);

const services = ['SECRETS_MANAGER', 'S3', 'SQS', 'DYNAMODB', 'LAMBDA'];

/** The addresses of queues lead to AWS: here they lead to the stack, where a secret goes by its name alone. */
const localised = (variables: Record<string, unknown>, url: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      String(value)
        .replace(/^https:\/\/sqs\.[^/]+\.amazonaws\.com/, url)
        .replace(/^arn:aws:secretsmanager:.*:secret:(.+)-AbCdEf$/, '$1'),
    ]),
  );

/** Puts the content of a function's zip where Lambda would. */
export async function unpack({ folder }: Packaged, name: string, taskRoot: string): Promise<string> {
  for (const { name: file, data } of unzip(await readFile(join(folder, `${name}.zip`)))) {
    await mkdir(dirname(join(taskRoot, file)), { recursive: true });
    await writeFile(join(taskRoot, file), data);
  }
  await linkBinding(taskRoot);
  return taskRoot;
}
