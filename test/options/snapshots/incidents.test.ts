import { PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { importJob } from '../../../lib/options/snapshots/import.ts';
import { importSettings } from '../../../lib/options/snapshots/import-settings.ts';
import { createSnapshotServices } from '../../../lib/options/snapshots/snapshot-services.ts';
import { createSnapshotStore } from '../../../lib/options/snapshots/state/store.ts';
import { listUnaccepted } from '../../../lib/options/snapshots/state/unaccepted.ts';
import { memoize } from '../../../lib/runtime/aws/memoize.ts';
import { readSettings } from '../../../lib/runtime/aws/setting.ts';
import { loadIntegrations } from '../../../lib/stage/integrations.ts';
import { executionHere, jobServicesHere } from '../../local/in-this-process.ts';
import { settingsAsDeployed } from '../../local/stack.ts';
import { onCallStage } from '../../package/deployed/on-call-stage.ts';
import { entriesOfSis, type Sis, smallSis, zipOf } from './sis.ts';

const { stack, states, pass, mails } = onCallStage([], { EXPECTED: 'snapshots/oneroster 26h' });

const put = (Key: string, Body: Buffer | string) =>
  stack().s3.send(new PutObjectCommand({ Bucket: stack().description.bucket, Key, Body }));
const services = memoize(async () => {
  const environment = {
    ...settingsAsDeployed(stack().description, 'snapshot-import'),
    METRIC_NAMESPACE: 'sis-relay/local',
  };
  return {
    ...(await createSnapshotServices(readSettings(importSettings, environment), loadIntegrations)),
    ...jobServicesHere(stack()),
    store: createSnapshotStore({ s3: stack().s3, bucket: stack().description.bucket }),
  };
});
const drop = async (sis: Sis, modes: Record<string, string> = {}) => {
  const key = 'snapshots/export.zip';
  await put(key, await zipOf(entriesOfSis(sis, modes)));
  return executionHere(stack(), importJob(services), { name: 'snapshot-import', event: { key } });
};

/** In steps of an hour, other schedules come too seldom. */
const ofSnapshots = (): string[] => mails().filter((mail) => mail.startsWith('Snapshot'));

test('an export that nobody decides on is told at once and each morning, with what waits behind it, and when it is rejected by time', {
  tags: ['long'],
}, async () => {
  const settings = { roles: { student: 110, teacher: 109 }, maxRemovalsPercent: 40 };
  await put('snapshot-settings.json', JSON.stringify(settings));
  const sis = smallSis();
  await drop(sis);
  await pass(30);
  mails();
  const waiting = drop({ ...sis, enrollments: [] });
  await expect.poll(() => states().last('SnapshotImports', { outcome: 'waiting-for-approval' })).toBe(1);
  await pass(15);
  expect(ofSnapshots()).toEqual(['SnapshotWaits on']);
  // A whole export would take the place of the one that waits.
  const behind = drop({ results: sis.results }, { results: 'delta' });
  const { store } = await services();
  await expect.poll(async () => (await listUnaccepted(store)).length).toBe(2);
  await pass(3 * 24 * 60, 60);
  expect(ofSnapshots()).toEqual(['SnapshotUndecided on', 'SnapshotUndecided on', 'SnapshotUndecided on']);
  expect(states().last('Decisions', { what: 'exports' })).toBe(2);
  await pass(5 * 24 * 60, 60);
  expect(ofSnapshots()).toContain('SnapshotExpired on');
  await Promise.all([waiting, behind]);
  await pass(2 * 24 * 60, 60);
  expect(ofSnapshots()).toEqual([]);
  // The last export came days ago.
  expect(states().last('ArrivalsOverdue', { expected: 'snapshots/oneroster' })).toBe(1);
});
