import { createReadStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { loadIntegrations } from '../../../../lib/operate/stage/integrations.ts';
import { examine } from '../../../../lib/sources/snapshots/examine.ts';
import { settingsKey } from '../../../../lib/sources/snapshots/package/settings-file.ts';
import type { SnapshotServices } from '../../../../lib/sources/snapshots/services.ts';
import { acceptedKey, recordKey } from '../../../../lib/sources/snapshots/state/record.ts';
import type { SnapshotStore } from '../../../../lib/sources/snapshots/state/store.ts';
import { peakBytes } from '../../../peak-memory.ts';

/** Compares one snapshot with what was accepted last, in a process of its own; a folder stands for the bucket. */
const [folder = '', file = '', droppedMs = ''] = process.argv.slice(2);
const at = (key: string): string => join(folder, key);
const json = (key: string): unknown => JSON.parse(readFileSync(at(key), 'utf8'));
const write = (key: string, value: unknown): void => {
  mkdirSync(dirname(at(key)), { recursive: true });
  writeFileSync(at(key), JSON.stringify(value));
};
const store: Partial<SnapshotStore> = {
  readJson: async (key) => json(key),
  writeJson: async (key, value) => write(key, value),
  readJsonIfAny: async (key) => (existsSync(at(key)) ? json(key) : undefined),
  etagOf: async (key) => (existsSync(at(key)) ? '' : undefined),
  textIfAny: async (key) => {
    if (key === settingsKey) return '{"roles":{"student":110,"teacher":109}}';
    return existsSync(at(key)) ? readFileSync(at(key), 'utf8') : undefined;
  },
  download: async ({ key }, path) => copyFile(at(key), path).then(() => 'a'.repeat(64)),
  open: async (key) => createReadStream(at(key)),
  uploadFile: async (key, path) => {
    mkdirSync(dirname(at(key)), { recursive: true });
    await copyFile(path, at(key));
  },
};
const services = {
  ...{ store, integrations: await loadIntegrations(), limits: { eventsPerPart: 5_000 } },
} as unknown as SnapshotServices;
const startedMs = performance.now();
const dropped = { key: file, etag: '', droppedMs: Number(droppedMs) };
const examined = await examine(dropped, { services, startedAt: new Date().toISOString() });
const seconds = (performance.now() - startedMs) / 1_000;
if (examined.is === 'to be sent') write(acceptedKey, examined.accepted);
const { user, system } = process.cpuUsage();
process.stdout.write(
  JSON.stringify({
    ...{ seconds, cpuSeconds: (user + system) / 1e6, peakMb: peakBytes() / 1024 ** 2 },
    ...(examined.is === 'over' && { message: examined.message }),
    ...{ id: examined.id, record: json(recordKey(examined.id ?? '')) },
  }),
);
