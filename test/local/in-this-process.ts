import type { Context, SQSEvent } from 'aws-lambda';
import { handlerOf } from '../../lib/delivery/handle/handler.ts';
import { createServices, type Services } from '../../lib/delivery/handle/services.ts';
import type { Outcome } from '../../lib/message/failure.ts';
import { readSettings } from '../../lib/runtime/aws/setting.ts';
import { messageSettings } from '../../lib/runtime/aws/settings.ts';
import { durableHandler, type Job } from '../../lib/runtime/jobs/engine.ts';
import { createJobStore } from '../../lib/runtime/jobs/store.ts';
import { createObserve, type MessageReport } from '../../lib/runtime/telemetry/observe.ts';
import { integrationNamed } from '../../lib/stage/integrations.ts';
import type { Lambda } from './lambda/lambda.ts';
import type { InvokeResult } from './lambda/runtime-api.ts';
import {
  durableOptionsOf,
  type Stack,
  type StackDescription,
  settingsAsDeployed,
  settingsOf,
} from './stack.ts';

type Hearing = {
  onLog?: ((functionName: string, line: string) => void) | undefined;
  onReport?(report: MessageReport): void;
  /** After the invocation in which a message came to its end. */
  onEnd?(messageId: string, outcome: Outcome): void;
  /** What a container has in place of its own. */
  change?(services: Services): Partial<Services>;
  /** With the waits of a deployment, which are longer. */
  asDeployed?: boolean;
};

/** As long as Lambda lets any of them run: an attempt that might not end in the time that is left is not begun. */
const context = { getRemainingTimeInMillis: () => 900_000 } as Context;

/** What a job in this process needs no HTTP for. */
export const jobServicesHere = ({ s3, executions, description }: Stack, bucket = description.bucket) => ({
  store: createJobStore({ s3, bucket }),
  running: executions.running,
});

/** A whole execution of a function's job, by the engine, which starts it anew after each wait. */
export const executionHere = <Request, Result>(
  { executions }: Stack,
  job: Job<Request, Result>,
  {
    name,
    event,
    execution,
    invocationMs = 120_000,
  }: { name: string; event: unknown; execution?: string | undefined; invocationMs?: number | undefined },
): Promise<InvokeResult> => {
  const handler = durableHandler(job, executions.client);
  const options = { ...durableOptionsOf(name), ...(execution !== undefined && { name: execution }) };
  return executions.run(event, options, async (payload) => {
    const untilMs = Date.now() + invocationMs;
    const own = { getRemainingTimeInMillis: () => untilMs - Date.now() } as Context;
    return { ok: true, payload: await handler(JSON.parse(JSON.stringify(payload)), own) };
  });
};

/** What an invocation has answered. @throws Error where it failed. */
export const answerOf = <Answer>(result: InvokeResult): Answer => {
  if (result.ok) return result.payload as Answer;
  throw new Error(`${result.error.errorType}: ${result.error.errorMessage}`);
};

/**
 * The functions that a queue triggers, in this process, each in one container: for who needs what they do, and not the process
 * that each of them has, which takes a second to start. They log nothing, but to who asks for it. One that is recycled is begun
 * anew with the next of its messages, and knows nothing of what was done before.
 */
export const inThisProcess = (
  description: StackDescription,
  settings: Record<string, string> = {},
  { onLog, onReport, onEnd, change, asDeployed = false }: Hearing = {},
): Lambda => {
  const handlers = new Map<string, ReturnType<typeof handlerOf>>();
  const started: Services[] = [];

  const start = async (name: string) => {
    const integration = await integrationNamed(name);
    if (integration === undefined) throw new Error(`${name} is not triggered by a queue`);
    const local = (asDeployed ? settingsAsDeployed : settingsOf)(description, name);
    const environment = { ...local, LOG_LEVEL: 'silent', ...settings };
    // The SDK's clients read them by themselves, some of them with their first call.
    const useEnvironment = () => {
      for (const [key, value] of Object.entries(environment))
        if (key.startsWith('AWS_')) process.env[key] = value;
    };
    useEnvironment();
    const services = createServices(name, readSettings(messageSettings, environment));
    started.push(services);
    const observe =
      onLog === undefined
        ? services.observe
        : createObserve({
            function: name,
            level: 'info',
            namespace: settings.METRIC_NAMESPACE ?? 'sis-relay',
            write: (line) => onLog(name, line),
          });
    let ended: MessageReport[] = [];
    const message = (report: MessageReport) => {
      observe.message(report);
      onReport?.(report);
      if (report.outcome !== 'waiting') ended.push(report);
    };
    const own = { ...services, observe: { ...observe, message } };
    const changed = { ...own, ...change?.(own) };
    const handle = handlerOf(integration, () => changed);
    const handler: typeof handle = async (event, given) => {
      useEnvironment();
      const answer = await handle(event, given);
      for (const { messageId, outcome } of ended) onEnd?.(messageId, outcome);
      ended = [];
      return answer;
    };
    handlers.set(name, handler);
    return handler;
  };

  return {
    invoke: async (name, event) => {
      const handler = handlers.get(name) ?? (await start(name));
      return { ok: true, payload: await handler(event as SQSEvent, context) };
    },
    containers: () => [],
    kill: () => undefined,
    recycle: async (name) => void handlers.delete(name),
    close: async () => {
      await Promise.all(started.map(({ platform }) => platform.close()));
    },
  };
};
