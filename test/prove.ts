import { availableParallelism } from 'node:os';
import { type Launch, launch } from './bench/processes.ts';
import type { Chunk, Proved } from './history/prove-chunk.ts';
import { numbersOf } from './options.ts';

// As many histories as time allows, on all cores, from a seed that is said: `npm run proofs -- --only prove`.

const { histories: asked, seed } = numbersOf(
  { histories: [100_000, 1], seed: [Date.now() % 2 ** 31] },
  { usage: 'npm run proofs -- --only prove --seed N -- --histories N' },
);

const chunk = 10_000;
const program: Launch = { program: new URL('history/prove-chunk.ts', import.meta.url) };
/** Where the chunks begin that nobody has taken yet. */
const due = Array.from({ length: Math.ceil(asked / chunk) }, (_, at) => at * chunk);
const reached = new Map<string, number>();
console.log(`${asked} histories, from seed ${seed}`);

/** Lives through one chunk after the other, until a history ends wrong in any process. */
const work = async (): Promise<void> => {
  const worker = launch<Chunk, Proved>(program);
  for (let from = due.shift(); from !== undefined; from = due.shift()) {
    const one = { seed: seed + from, runs: Math.min(chunk, asked - from) };
    const proved = await worker.ask(one);
    if (proved.wrong !== undefined) {
      const { wrong } = proved;
      console.log(
        `Wrong after ${from + wrong.after} histories (seed ${one.seed}), shrunk ${wrong.shrunk} times:`,
      );
      console.log(`  ${wrong.problems.join('\n  ')}`);
      console.log('To keep it, put it into test/history/kept.ts:');
      console.log(JSON.stringify(wrong.history));
      process.exit(1);
    }
    for (const [what, times] of proved.reached) reached.set(what, (reached.get(what) ?? 0) + times);
  }
  await worker.close();
};
await Promise.all(Array.from({ length: Math.min(availableParallelism(), due.length) }, work));
for (const [what, times] of [...reached].sort())
  console.log(`${what.padEnd(40)}${String(times).padStart(10)}`);
console.log('All is well.');
