import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { chooseWrites, type Segment, segments } from '../../../lib/options/reconcile/choose-writes.ts';
import { chooseEnrollments, divide, groupsIn } from '../../../lib/options/reconcile/divide.ts';
import { noReasons, type Reason, reasons, type Selection } from '../../../lib/options/reconcile/selection.ts';
import { readAcceptedExports } from '../../../lib/options/snapshots/accepted-exports.ts';
import type { Platform } from '../../../lib/platform/client/client.ts';
import { createQuickDynamoDb } from '../../../lib/runtime/aws/dynamodb-quick.ts';
import type { JobStore } from '../../../lib/runtime/jobs/store.ts';
import { localClient } from '../../local/aws/aws.ts';
import { peakBytes } from '../../peak-memory.ts';

/** Lists what a run looks at, in a process of its own; a folder stands for the bucket. */
const [folder = '', url = '', selected = ''] = process.argv.slice(2);
const selection: Selection & { isWhole: boolean } = JSON.parse(selected);
const at = (key: string): string => {
  mkdirSync(dirname(join(folder, key)), { recursive: true });
  return join(folder, key);
};
const store = {
  etagOf: async (key) => (existsSync(at(key)) ? '' : undefined),
  keysUnder: async () => [],
  readJsonIfAny: async (key) => (existsSync(at(key)) ? JSON.parse(readFileSync(at(key), 'utf8')) : undefined),
  open: async (key) => createReadStream(at(key)),
  uploadLines: (key, lines) => pipeline(lines, createGzip({ level: 1 }), createWriteStream(at(key))),
  uploadFile: (key, path) => copyFile(path, at(key)),
  readLines: async (key) =>
    (await text(createReadStream(at(key)).pipe(createGunzip()))).split('\n').slice(0, -1),
} as Partial<JobStore> as JobStore;

const diskBytes = (): number =>
  readdirSync(tmpdir(), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, entry) =>
        sum + (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
let peakDiskBytes = 0;
const looking = setInterval(() => {
  peakDiskBytes = Math.max(peakDiskBytes, diskBytes());
}, 250);

type Phase = { seconds: number; cpuSeconds: number };
const phases: Record<string, Phase> = {};
const timed = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
  const [startedMs, before] = [performance.now(), process.cpuUsage()];
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  phases[name] = { seconds: (performance.now() - startedMs) / 1_000, cpuSeconds: (user + system) / 1e6 };
  return result;
};

const table = { dynamodb: createQuickDynamoDb(localClient(url)), table: 'ledger', nowMs: Date.now };
const counts: Record<Reason, number> = noReasons(() => 0);
let entries = 0;
const keys: string[] = [];
await timed('choose', async () => {
  let left: Segment[] = Array.from({ length: segments }, (_, segment) => ({ segment }));
  for (let step = 1; left.length > 0; step += 1) {
    const keyOf = (segment: number): string => `chosen-${step}-${segment}.gz`;
    keys.push(...left.map(({ segment }) => keyOf(segment)));
    const chosen = await chooseWrites({ from: left, keyOf, untilMs: Date.now() + 600_000 }, selection, {
      store,
      table,
    });
    for (const reason of reasons) counts[reason] += chosen.selected[reason];
    entries += chosen.entries;
    left = chosen.left;
  }
});
const partKey = (part: number): string => `part-${part}.gz`;
const listing = await timed('told', () =>
  chooseEnrollments({ key: 'told.gz', isWhole: selection.isWhole }, selection, {
    store,
    crosswalk: { platformIds: async () => ({}) },
    platform: {} as Platform,
    readExports: readAcceptedExports,
  }),
);
keys.push('told.gz');
const { enrolled, unknown } = listing;
const parts = await timed('divide', () => divide({ keys, partKey }, store));
let [groups, writes] = [0, 0];
await timed('read', async () => {
  for (let part = 0; part < parts; part += 1) {
    const found = await groupsIn(partKey(part), store);
    groups += found.length;
    writes += found.reduce((sum, group) => sum + group.length, 0);
  }
});
clearInterval(looking);
process.stdout.write(
  JSON.stringify({
    phases,
    entries,
    counts: { ...counts, snapshot: enrolled },
    unknown,
    parts,
    groups,
    writes,
    peakMb: peakBytes() / 1024 ** 2,
    peakDiskMb: peakDiskBytes / 1024 ** 2,
  }),
);
