import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, SQSRecord } from 'aws-lambda';
import { handlerOf } from '../../../../lib/delivery/handle/handler.ts';
import type { Integration } from '../../../../lib/delivery/handle/integration.ts';
import { createServices } from '../../../../lib/delivery/handle/services.ts';
import { reconcileJob } from '../../../../lib/options/reconcile/reconcile.ts';
import { createReconcileServices } from '../../../../lib/options/reconcile/reconcile-services.ts';
import { reconcileSettings } from '../../../../lib/options/reconcile/reconcile-settings.ts';
import { type Finding, findingsKey, type Report } from '../../../../lib/options/reconcile/record.ts';
import { loadExportReader } from '../../../../lib/options.ts';
import { readSettings } from '../../../../lib/runtime/aws/setting.ts';
import { messageSettings } from '../../../../lib/runtime/aws/settings.ts';
import { loadIntegrations } from '../../../../lib/stage/integrations.ts';
import { recordOf } from '../../../local/examples.ts';
import { answerOf, executionHere, jobServicesHere } from '../../../local/in-this-process.ts';
import { type Stack, settingsOf } from '../../../local/stack.ts';

type Sending<Data> = { integration: Integration<Data>; data: object[]; told?(): void };

/** Where it is played. */
export type Stage = {
  stack: Stack;
  /** In place of the stack's own. */
  settings?: Record<string, string>;
  /** Until what waits is delivered again. */
  rest?(): Promise<unknown>;
};

/** By the function's handler in this process, in batches, four at a time. */
export const send = async <Data>(
  { stack, settings = {}, rest = () => sleep(500) }: Stage,
  { integration, data, told = () => {} }: Sending<Data>,
): Promise<void> => {
  const { name } = integration;
  const environment: Record<string, string> = {
    ...settingsOf(stack.description, name),
    LOG_LEVEL: 'silent',
    ...settings,
  };
  Object.assign(process.env, environment);
  const services = createServices(name, readSettings(messageSettings, environment));
  const failed: string[] = [];
  const observe = {
    ...services.observe,
    message: ({ outcome, reason = '' }: { outcome: string; reason?: string | undefined }) => {
      if (outcome !== 'done' && outcome !== 'waiting') failed.push(`${outcome}: ${reason}`);
    },
  };
  const handler = handlerOf(integration, () => ({ ...services, observe }));
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < data.length) {
      const batch = data.slice(next, next + 10);
      next += 10;
      let Records = batch.map((each) => recordOf(name, bodyOf(name, each)));
      const context = { getRemainingTimeInMillis: () => 60_000 } as Context;
      while (Records.length > 0) {
        const { batchItemFailures } = await handler({ Records }, context);
        const waiting = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
        Records = Records.filter(({ messageId }) => waiting.has(messageId)).map(receivedAgain);
        if (Records.length > 0) await rest();
      }
      told();
    }
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  await services.platform.close();
  if (failed.length > 0) throw new Error(`${failed.length} writes were not done: ${failed[0]}`);
};

const receivedAgain = (record: SQSRecord): SQSRecord => ({
  ...record,
  attributes: {
    ...record.attributes,
    ApproximateReceiveCount: String(Number(record.attributes.ApproximateReceiveCount) + 1),
  },
});

const bodyOf = (name: string, data: object): string =>
  JSON.stringify({
    specversion: '1.0',
    id: randomUUID(),
    source: '/sis',
    type: `sis.${name}.v1`,
    time: new Date().toISOString(),
    data,
  });

export const findingsOf = async (
  report: Report,
  textIfAny: (key: string) => Promise<string | undefined>,
): Promise<Finding[]> => {
  const findings: Finding[] = [];
  for (let part = 1; part <= report.parts; part += 1) {
    const lines = (await textIfAny(findingsKey(report.id, part))) ?? '';
    findings.push(...lines.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line))));
  }
  return findings;
};

/** Runs the function in this process, on an engine that starts it anew after each wait. @throws Error where the execution fails. */
export const compare = async (
  { stack, settings = {} }: Stage,
  request: object = {},
  invocationMs = 900_000,
): Promise<{ report: Report; findings: Finding[] }> => {
  const { description } = stack;
  const environment = {
    ...settingsOf(description, 'reconcile'),
    LOG_LEVEL: 'silent',
    QUEUE_VISIBILITY_SECONDS: '1',
    QUEUE_BACKLOG_SECONDS: '1',
    // Where the machine is busy a write takes longer than the local stack gives it: that would look like a change by a person.
    RECONCILE_BUCKET: description.bucket,
    ATTEMPT_TIMEOUT_MS: '60000',
    ...settings,
  };
  Object.assign(process.env, environment);
  const services = {
    ...(await createReconcileServices(readSettings(reconcileSettings, environment), {
      loadIntegrations,
      readExports: await loadExportReader(),
    })),
    ...jobServicesHere(stack, environment.RECONCILE_BUCKET),
  };
  const job = reconcileJob(async () => services);
  const result = await executionHere(stack, job, { name: 'reconcile', event: request, invocationMs });
  await services.platform.close();
  const report = answerOf<Report>(result);
  return { report, findings: await findingsOf(report, services.store.textIfAny) };
};
