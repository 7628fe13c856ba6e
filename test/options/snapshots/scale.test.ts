// @module-tag long
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { SnapshotRecord } from '../../../lib/options/snapshots/state/record.ts';
import { sizeOf, writeExport } from './exports.ts';

/** `SNAPSHOT_ROWS=5000000` measures the whole of what is promised; without it a small part. */
const rows = Number(process.env.SNAPSHOT_ROWS ?? 20_000);
/** On two idle cores 5,000,000 rows take at most 60 s in the first night and 30 s in the next. */
const atMostMb = 900;

type Measured = { seconds: number; cpuSeconds: number; peakMb: number; record: SnapshotRecord };

test.skipIf(process.platform !== 'linux')(
  `${rows} rows are compared in less than ${atMostMb} MB, in the first night and the next`,
  { timeout: 3_600_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'snapshots-'));
    const night = async (number: number): Promise<Measured> => {
      await writeExport(join(folder, 'export.zip'), sizeOf(rows), number);
      const path = join(import.meta.dirname, 'examine-once.ts');
      // As in serverless.yml.
      const options = [
        '--max-semi-space-size=8',
        path,
        folder,
        'export.zip',
        String(Date.UTC(2026, 9 + number)),
      ];
      const measured: Measured = JSON.parse((await promisify(execFile)(process.execPath, options)).stdout);
      const { seconds, cpuSeconds, peakMb } = measured;
      process.stdout.write(
        `\nnight ${number + 1} of ${rows} rows: ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU, at most ${Math.round(peakMb)} MB\n`,
      );
      expect(peakMb).toBeLessThan(atMostMb);
      return measured;
    };
    try {
      const size = sizeOf(rows);
      const sent = size.lineItems + size.enrollments + size.results;
      const first = await night(0);
      expect(first.record.counts).toMatchObject({ created: sent, refused: 0 });
      const { counts } = (await night(1)).record;
      expect(counts).toMatchObject({ created: 0, refused: 0 });
      expect(counts.updated + counts.removed).toBe(sent / 100);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
