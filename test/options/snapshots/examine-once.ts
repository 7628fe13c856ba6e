import { copyFile } from 'node:fs/promises';
import { examine } from '../../../lib/options/snapshots/examine.ts';
import { settingsKey } from '../../../lib/options/snapshots/package/settings-file.ts';
import { acceptedKey, recordKey } from '../../../lib/options/snapshots/state/record.ts';
import { loadIntegrations } from '../../../lib/stage/integrations.ts';
import { peakBytes } from '../../peak-memory.ts';
import { bucketFolder } from './bucket-folder.ts';

/** Compares one snapshot with what was accepted last, in a process of its own; a folder stands for the bucket. */
const [folder = '', file = '', droppedMs = ''] = process.argv.slice(2);
const bucket = bucketFolder(folder);
bucket.write(settingsKey, '{"roles":{"student":110,"teacher":109}}');
const store = {
  ...bucket.store,
  // The file is not held in memory.
  download: async ({ key }: { key: string }, path: string) =>
    copyFile(bucket.at(key), path).then(() => 'a'.repeat(64)),
};
const services = { store, integrations: await loadIntegrations(), limits: { eventsPerPart: 5_000 } };
const startedMs = performance.now();
const dropped = { key: file, etag: '', droppedMs: Number(droppedMs) };
const examined = await examine(dropped, { services, startedAt: new Date().toISOString() });
const seconds = (performance.now() - startedMs) / 1_000;
if (examined.is === 'to be sent') bucket.write(acceptedKey, JSON.stringify(examined.accepted));
const { user, system } = process.cpuUsage();
process.stdout.write(
  JSON.stringify({
    seconds,
    cpuSeconds: (user + system) / 1e6,
    peakMb: peakBytes() / 1024 ** 2,
    ...(examined.is === 'over' && { message: examined.message }),
    id: examined.id,
    record: bucket.json(recordKey(examined.id ?? '')),
  }),
);
