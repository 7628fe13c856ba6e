import { SQSClient } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { settingsFrom } from '../../../lib/config/settings.ts';
import { handlerOf } from '../../../lib/delivery/handler.ts';
import { createServices } from '../../../lib/delivery/services.ts';
import { loadIntegrations } from '../../../lib/deployment/integrations.ts';
import type { Outcome } from '../../../lib/failure.ts';
import { createObserve } from '../../../lib/telemetry/observe.ts';
import { localClient } from '../../local/aws.ts';
import { mapQueue } from '../../local/event-source-mapping.ts';
import { type Stack, type StackOptions, settingsOf } from '../../local/stack.ts';

type Options = Pick<StackOptions, 'settings' | 'onLog'>;

/**
 * Functions in this process, each fed from its queue: in a process of its own, one costs a quarter of a second of CPU before its
 * first message.
 */
export const startInProcess = async (
  { description, executions }: Stack,
  names: readonly string[],
  { settings, onLog }: Options = {},
) => {
  const integrations = await loadIntegrations();
  const sqs = new SQSClient(localClient(description.sqs));
  const clients: { close(): Promise<void> }[] = [];
  const ends = new Map<string, PromiseWithResolvers<Outcome>>();
  const endOf = (messageId: string) => {
    const end = ends.get(messageId) ?? Promise.withResolvers<Outcome>();
    ends.set(messageId, end);
    return end;
  };

  for (const name of names) {
    const integration = integrations.get(name);
    if (integration === undefined) throw new Error(`There is no integration ${name}`);
    const environment = {
      ...settingsOf(description, name),
      LOG_LEVEL: onLog ? 'info' : 'silent',
      ...settings,
    };
    // The SDK's clients read them by themselves, some of them with their first call.
    for (const [key, value] of Object.entries(environment))
      if (key.startsWith('AWS_')) process.env[key] = value;
    const services = createServices(name, settingsFrom(environment));
    clients.push(services.platform);
    const observe = createObserve({
      ...{ function: name, level: onLog ? 'info' : 'silent', namespace: 'sis-relay' },
      write: (line) => onLog?.(name, line),
    });
    let told: { messageId: string; outcome: Outcome }[] = [];
    const message: typeof observe.message = (report) => {
      observe.message(report);
      told.push(report);
    };
    const handler = handlerOf(integration, () => ({ ...services, observe: { ...observe, message } }));
    const [account, queue] = new URL(description.queues[name] ?? '').pathname.slice(1).split('/');
    const queueArn = `arn:aws:sqs:${description.region}:${account}:${queue}`;
    executions.mappings.add({
      functionName: `sis-relay-local-${name}`,
      queueArn,
      batchSize: 50,
      start: () =>
        mapQueue({
          ...{ sqs, queueUrl: description.queues[name] ?? '', queueArn, batchSize: 50, pollers: 1 },
          invoke: async (event) => {
            const deadlineMs = performance.now() + 20_000;
            const getRemainingTimeInMillis = () => deadlineMs - performance.now();
            const payload = await handler(event, { getRemainingTimeInMillis } as Context);
            for (const { messageId, outcome } of told)
              if (outcome !== 'waiting') endOf(messageId).resolve(outcome);
            told = [];
            return { ok: true, payload };
          },
        }),
    });
  }
  return {
    /** What has become of a message, once its function has ended it. */
    ended: (messageId: string): Promise<Outcome> => endOf(messageId).promise,
    close: async (): Promise<void> => {
      await executions.mappings.stop();
      await Promise.all(clients.map((client) => client.close()));
      sqs.destroy();
    },
  };
};
