import fc from 'fast-check';
import { type History, histories } from './history/history.ts';
import { live } from './history/live.ts';
import { optionsOf } from './options.ts';

// `npm run prove -- --histories N --seed N`: as many histories as time allows, from a seed that is said.

const usage = 'npm run prove -- --histories N --seed N';
const values = optionsOf(
  {
    histories: { type: 'string', default: '100000' },
    seed: { type: 'string', default: `${Date.now() % 2 ** 31}` },
  },
  { usage },
);
const asked = Number(values.histories);
const seed = Number(values.seed);
if (!Number.isSafeInteger(asked) || !Number.isSafeInteger(seed) || asked < 1) {
  console.error(usage);
  process.exit(2);
}

// Nobody reads the stacks of the errors that a history is made of.
Error.stackTraceLimit = 0;

const chunk = 10_000;
const reached = new Map<string, number>();
console.log(`${asked} histories, from seed ${seed}`);
for (let lived = 0; lived < asked; lived += chunk) {
  const run = await fc.check(
    fc.asyncProperty(histories, async (history) => {
      const life = await live(history);
      for (const each of life.reached) reached.set(each, (reached.get(each) ?? 0) + 1);
      if (life.problems.length > 0) throw new Error(life.problems.join('; '));
    }),
    { numRuns: Math.min(chunk, asked - lived), seed: seed + lived },
  );
  if (run.failed) {
    const [history] = run.counterexample as [History];
    console.log(
      `Wrong after ${lived + run.numRuns} histories (seed ${run.seed}), shrunk ${run.numShrinks} times:`,
    );
    console.log(`  ${(await live(history)).problems.join('\n  ')}`);
    console.log('To keep it, put it into test/history/kept.ts:');
    console.log(JSON.stringify(history));
    process.exit(1);
  }
}
for (const [what, times] of [...reached].sort())
  console.log(`${what.padEnd(40)}${String(times).padStart(10)}`);
console.log('All is well.');
