import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { type Launch, launch } from './bench/processes.ts';
import { digestOfCode } from './digest.ts';
import type { Chunk, Proved } from './history/prove-chunk.ts';
import { numbersOf } from './options.ts';

// As many histories as time allows, on all cores, from a seed that is said: `npm run proofs -- --only prove`. A run that was ended is gone
// on with by the same line.

const { histories: asked, seed } = numbersOf(
  { histories: [100_000, 1], seed: [Date.now() % 2 ** 31] },
  { usage: 'npm run proofs -- --only prove --seed N -- --histories N' },
);

const chunk = 10_000;
const program: Launch = { program: new URL('history/prove-chunk.ts', import.meta.url) };
const folder = resolve(import.meta.dirname, '../.proofs');
const file = join(folder, `prove-${seed}-${asked}-${digestOfCode()}.json`);

/** The chunks that are proved, by where they begin, and how often each thing was reached in them. */
type Done = { chunks: number[]; reached: Record<string, number> };

const doneBefore = (): Done => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { chunks: [], reached: {} };
  }
};

const done = doneBefore();
const due = Array.from({ length: Math.ceil(asked / chunk) }, (_, at) => at * chunk).filter(
  (from) => !done.chunks.includes(from),
);
console.log(`${asked} histories, from seed ${seed}`);
if (done.chunks.length > 0)
  console.log(`${Math.min(asked, done.chunks.length * chunk)} of them are proved already.`);

const keep = (): void => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${file}.new`, JSON.stringify(done));
  renameSync(`${file}.new`, file);
};

/** Lives through one chunk after the other, until a history ends wrong in any process. */
const work = async (): Promise<void> => {
  const worker = launch<Chunk, Proved>(program);
  for (let from = due.shift(); from !== undefined; from = due.shift()) {
    const one = { seed: seed + from, runs: Math.min(chunk, asked - from) };
    const { reached, wrong } = await worker.ask(one);
    if (wrong !== undefined) {
      console.log(
        `Wrong after ${from + wrong.after} histories (seed ${one.seed}), shrunk ${wrong.shrunk} times:`,
      );
      console.log(`  ${wrong.problems.join('\n  ')}`);
      console.log('To keep it, put it into test/history/kept.ts:');
      console.log(JSON.stringify(wrong.history));
      process.exit(1);
    }
    done.chunks.push(from);
    for (const [what, times] of reached) done.reached[what] = (done.reached[what] ?? 0) + times;
    keep();
  }
  await worker.close();
};
await Promise.all(Array.from({ length: Math.min(availableParallelism(), due.length) }, work));
for (const [what, times] of Object.entries(done.reached).sort())
  console.log(`${what.padEnd(40)}${String(times).padStart(10)}`);
console.log('All is well.');
// So that whoever runs it again proves it again.
rmSync(file, { force: true });
