// @module-tag long
import { execFile } from 'node:child_process';
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { expect, test } from 'vitest';
import { filledFolder } from '../../../lib/crosswalk/moved.ts';
import type { Reason } from '../../../lib/options/reconcile/selection.ts';
import { acceptedKey, stateKey } from '../../../lib/options/snapshots/state/record.ts';
import { writeStateOf } from '../snapshots/state-file.ts';
import { isRecent, startGeneratedLedger } from './generated-ledger.ts';

/** `RECONCILE_ITEMS=10000000` measures a million students; without it a small part. */
const items = Number(process.env.RECONCILE_ITEMS ?? 50_000);
const orgUnits = Math.max(28, items / 200);
const [enrolledEach, nights] = [80, 28];
const atMostMb = 900;
const hourMs = 3_600_000;
const id = '20261101T020000Z-0a1b2c3d';

type Phase = { seconds: number; cpuSeconds: number };
type Listed = {
  phases: Record<'choose' | 'told' | 'divide' | 'read', Phase>;
  counts: Record<Reason, number>;
  entries: number;
  unknown: number;
  parts: number;
  groups: number;
  writes: number;
  peakMb: number;
  peakDiskMb: number;
};

/** List prices of us-east-1, in US dollars: a million reads, a gigabyte-second of a function on arm64. */
const prices = { read: 0.125, gigabyteSecond: 0.0000133334 };
/** Of a processor, as Lambda gives 1,024 MB of the 1,769 that are one. */
const share = 1_024 / 1_769;

test.skipIf(process.platform !== 'linux')(
  `of ${items} items of the ledger and ${orgUnits * enrolledEach} enrollments of a snapshot, what a night looks at is listed in less than ${atMostMb} MB, and all of it`,
  { timeout: 3_600_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'listing-'));
    const nowMs = Date.now();
    const ledger = await startGeneratedLedger({ items, orgUnits, nowMs });
    const list = async (isWhole: boolean): Promise<Listed> => {
      const selection = {
        sinceMs: isWhole ? 0 : nowMs - 25 * hourMs,
        runId: 'one',
        nights,
        night: 3,
        isWhole,
        share: isWhole ? 1 : 30_000 / 9_000_000,
      };
      Object.assign(ledger.scanned, { pages: 0, bytes: 0 });
      const temporary = join(folder, 'tmp');
      mkdirSync(temporary, { recursive: true });
      // As in serverless.yml.
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [
          '--max-semi-space-size=8',
          join(import.meta.dirname, 'list-once.ts'),
          folder,
          ledger.url,
          JSON.stringify(selection),
        ],
        { env: { ...process.env, TMPDIR: temporary } },
      );
      const listed: Listed = JSON.parse(stdout);
      tell(isWhole ? 'a run of all' : 'a night', listed, ledger.scanned);
      expect(listed.peakMb).toBeLessThan(atMostMb);
      return listed;
    };
    try {
      await writeSnapshot(folder);
      const night = await list(false);
      const recent = Array.from({ length: items }, (_, at) => at).filter(isRecent).length;
      expect(night).toMatchObject({ entries: items, unknown: 0, counts: { recent } });
      expect(night.counts.slice).toBeGreaterThan(0);
      expect(night.counts.snapshot % enrolledEach).toBe(0);
      const { counts, writes } = night;
      expect(writes).toBe(counts.recent + counts.sample + counts.slice + counts.snapshot);
      const all = await list(true);
      expect(all).toMatchObject({
        entries: items,
        unknown: 0,
        writes: items + orgUnits * enrolledEach,
        counts: { recent: items, snapshot: orgUnits * enrolledEach },
      });
    } finally {
      await ledger.close();
      rmSync(folder, { recursive: true });
    }
  },
);

const tell = (title: string, listed: Listed, { pages, bytes }: { pages: number; bytes: number }): void => {
  const { phases, writes, parts, groups, peakMb, peakDiskMb } = listed;
  const lines = Object.entries(phases).map(
    ([name, { seconds, cpuSeconds }]) =>
      `  ${name}: ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU, ${(cpuSeconds / share).toFixed(0)} s in Lambda`,
  );
  const reads = (prices.read * bytes) / 8_192 / 1e6;
  const cpuSeconds = phases.choose.cpuSeconds + phases.told.cpuSeconds + phases.divide.cpuSeconds;
  const lambda = (cpuSeconds / share) * prices.gigabyteSecond;
  process.stdout.write(
    `\n${title}: ${writes} of ${items} items are looked at, in ${groups} groups and ${parts} parts\n${lines.join('\n')}\n` +
      `  at most ${Math.round(peakMb)} MB of memory and ${Math.round(peakDiskMb)} MB of disk; ${pages} pages of ${(bytes / 1e9).toFixed(1)} GB\n` +
      `  $${reads.toFixed(3)} for reads, $${lambda.toFixed(3)} for the function\n`,
  );
};

/** What a snapshot says of the org units and users of the ledger, and what its names stand for. */
const writeSnapshot = async (folder: string): Promise<void> => {
  const write = async (key: string, lines: Iterable<string>): Promise<void> => {
    const path = join(folder, key);
    mkdirSync(dirname(path), { recursive: true });
    await pipeline(lines, createGzip({ level: 1 }), createWriteStream(path));
  };
  const many = function* (count: number, line: (at: number) => string): Generator<string> {
    for (let from = 0; from < count; from += 1_000) {
      let text = '';
      for (let at = from; at < Math.min(count, from + 1_000); at += 1) text += `${line(at)}\n`;
      yield text;
    }
  };
  const users = items / 10;
  await write(
    `${filledFolder}orgUnitCode-platform.gz`,
    many(orgUnits, (at) => `ab12\t"2026-COURSE-${at}"\t${20_001 + at}\t`),
  );
  await write(
    `${filledFolder}userName-file.gz`,
    many(users, (at) => `ab12\t"first.last${at}"\t${100_001 + at}\t`),
  );
  await writeStateOf(
    join(folder, stateKey(id)),
    `SELECT '2' AS kind, '2026-COURSE-' || n % ${orgUnits} AS a, 'first.last' || n * 7 % ${users} AS b, '110' AS value, 'r' || n AS row
     FROM range(${orgUnits * enrolledEach}) t(n)`,
  );
  const by = JSON.stringify(['classCode', 'userName', 'username']);
  writeFileSync(
    join(folder, acceptedKey),
    JSON.stringify({ id, number: 1, columns: {}, by, holds: 'tables' }),
  );
};
