import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { functionNames } from '../../esbuild.config.ts';
import { numbersOf } from '../options.ts';
import { measureCommand } from './command.ts';
import { type Floor, floorLineOf, verdictOf } from './figures.ts';
import { measureImports } from './imports.ts';
import { measureMessages } from './messages.ts';

/** How much is measured: processes of each peer, repeats in each, and messages in a repeat. */
export type Size = { launches: number; rounds: number; messages: number; functions: readonly string[] };

/** What was measured, in lines, and what must hold of it. */
export type Measured = { lines: string[]; floors: Floor[] };

/**
 * A repeat begins cold, as other processes had the processor before it: with 500 messages, one costs a quarter more than with
 * 2,000.
 */
const full: Size = { launches: 3, rounds: 6, messages: 2_000, functions: functionNames };

export const bench = async (size: Size, print: (line: string) => void): Promise<readonly Floor[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'sis-relay-bench-'));
  const all: Floor[] = [];
  try {
    for (const measure of [measureMessages, measureImports, measureCommand]) {
      const { lines, floors } = await measure(size, folder);
      for (const line of [...lines, ...floors.map(floorLineOf)]) print(line);
      all.push(...floors);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return all;
};

/** `npm run bench`. The exit status is 0 exactly if no floor fails. */
export const command = async (): Promise<void> => {
  const { launches, rounds } = numbersOf(
    { launches: [full.launches, 1], rounds: [full.rounds, 1] },
    { usage: 'npm run bench -- --launches N --rounds N' },
  );
  const floors = await bench({ ...full, launches, rounds }, console.log);
  const [held, missed, failed] = (['holds', 'missed', 'fails'] as const).map(
    (verdict) => floors.filter((each) => verdictOf(each) === verdict).length,
  );
  const load = (loadavg()[0] ?? 0).toFixed(1);
  console.log(
    `Floors: ${held} hold, ${missed} are missed as is tolerated, ${failed} fail; load average ${load}`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
};
