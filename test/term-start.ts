import { type Launch, launch } from './bench/processes.ts';
import { writePart } from './documents.ts';
import { optionsOf } from './options.ts';
import { runLive } from './term-start/live.ts';
import { summaryOf, textOf } from './term-start/report.ts';
import type { Asked } from './term-start/runner.ts';
import type { Told } from './term-start/told.ts';
import { ungated, type Variant, variants } from './term-start/variants.ts';

const usage =
  'npm run proofs -- --only term-start -- --seed N --gate on|off --only <part of a variant’s name>, or --live';
const runner: Launch = { program: new URL('term-start/runner.ts', import.meta.url) };
/** More would take the time of each other. */
const processes = 2;

/**
 * `npm run proofs -- --only term-start`: simulates the term start, and writes what test/README.md shows. `--gate off` shows what is seen where calls do
 * not wait for their turn, and `--live` is a small one on the local stack. The exit status is 0 exactly if every floor holds, and without a gate some do not.
 */
export const command = async (): Promise<void> => {
  const { seed, gate, only, live } = optionsOf(
    {
      seed: { type: 'string', default: '1' },
      gate: { type: 'string', default: 'on' },
      only: { type: 'string', default: '' },
      live: { type: 'boolean', default: false },
    },
    { usage },
  );
  if (!Number.isSafeInteger(Number(seed)) || !['on', 'off'].includes(gate)) {
    console.error(usage);
    process.exitCode = 2;
    return;
  }
  if (live) return runLive();
  const asked = (gate === 'off' ? ungated : [...variants, ...ungated]).filter(({ name }) =>
    name.includes(only),
  );
  const startedMs = performance.now();
  const all = await simulated(asked, Number(seed));
  if (gate === 'on' && only === '' && seed === '1') {
    writePart('term-start', summaryOf(all));
  }
  const held = all.filter(({ floors }) => floors.every(({ holds }) => holds));
  const unseen = held.filter(({ mustHold }) => !mustHold);
  for (const { name } of unseen) console.log(`\n${name}: nothing is seen of it, so that this proves nothing`);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  console.log(`\nAll floors hold in ${held.length} of ${all.length} variants; simulated in ${seconds} s`);
  const isWell = all.every((told) => held.includes(told) === told.mustHold);
  process.exitCode = isWell && gate === 'on' ? 0 : 1;
};

const simulated = async (asked: Variant[], seed: number): Promise<Told[]> => {
  const all = new Map<Variant, Told>();
  const left = [...asked];
  const work = async (): Promise<void> => {
    const program = launch<Asked, Told>(runner);
    for (let variant = left.shift(); variant; variant = left.shift()) {
      const told = await program.ask({ name: variant.name, seed });
      all.set(variant, told);
      console.log(textOf(told));
    }
    await program.close();
  };
  await Promise.all(Array.from({ length: processes }, work));
  return asked.flatMap((variant) => all.get(variant) ?? []);
};
