import type { Context, SQSEvent } from 'aws-lambda';
import { settingsFrom } from '../../lib/config/settings.ts';
import { handlerOf } from '../../lib/delivery/handler.ts';
import { createServices, type Services } from '../../lib/delivery/services.ts';
import { loadIntegrations } from '../../lib/deployment/integrations.ts';
import type { Lambda } from './lambda.ts';
import { type StackDescription, settingsOf } from './stack.ts';

const context = { getRemainingTimeInMillis: () => 60_000 } as Context;

/**
 * The functions that a queue triggers, in this process, each in one container: for who needs what they do, and not the process
 * that each of them has, which takes a second to start. They log nothing.
 */
export const inThisProcess = (
  description: StackDescription,
  settings: Record<string, string> = {},
): Lambda => {
  const handlers = new Map<string, ReturnType<typeof handlerOf>>();
  const started: Services[] = [];

  const start = async (name: string) => {
    const integration = (await loadIntegrations()).get(name);
    if (integration === undefined) throw new Error(`${name} is not triggered by a queue`);
    const environment = { ...settingsOf(description, name), LOG_LEVEL: 'silent', ...settings };
    // The SDK's clients read them by themselves.
    for (const [key, value] of Object.entries(environment))
      if (key.startsWith('AWS_')) process.env[key] = value;
    const services = createServices(name, settingsFrom(environment));
    started.push(services);
    const handler = handlerOf(integration, () => services);
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
