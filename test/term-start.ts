import { type Launch, launch } from './bench/processes.ts';
import { writePart } from './documents.ts';
import { optionsOf } from './options.ts';
import { limitOf, type Result, shown, summaryOf } from './term-start/result.ts';
import type { Asked } from './term-start/runner.ts';
import { ungated, type Variant, variants } from './term-start/variants.ts';

const usage = 'npm run proofs -- --only term-start -- --seed N --only <part of a variant’s name>';
const runner: Launch = { program: new URL('term-start/runner.ts', import.meta.url) };
/** More would take the time of each other. */
const processes = 2;

/**
 * `npm run proofs -- --only term-start`: simulates the term start, and writes what test/README.md shows. The exit status is 0 exactly
 * if every floor holds, and without a gate some do not.
 */
export const command = async (): Promise<void> => {
  const text = { type: 'string' } as const;
  const options = { seed: { ...text, default: '1' }, only: { ...text, default: '' } };
  const { seed, only } = optionsOf(options, { usage });
  if (!Number.isSafeInteger(Number(seed))) {
    console.error(usage);
    process.exitCode = 2;
    return;
  }
  const asked = [...variants, ...ungated].filter(({ name }) => name.includes(only));
  const all = await simulated(asked, Number(seed));
  if (only === '' && seed === '1') writePart('term-start', summaryOf(all));
  const held = all.filter(({ floors }) => floors.every(({ holds }) => holds));
  for (const { name, mustHold } of held)
    if (!mustHold) console.log(`\n${name}: nothing is seen of it, so that this proves nothing`);
  console.log(`\nAll floors hold in ${held.length} of ${all.length} variants`);
  process.exitCode = all.every((result) => held.includes(result) === result.mustHold) ? 0 : 1;
};

const simulated = async (asked: Variant[], seed: number): Promise<Result[]> => {
  const all = new Map<Variant, Result>();
  const left = [...asked];
  const work = async (): Promise<void> => {
    const program = launch<Asked, Result>(runner);
    for (let variant = left.shift(); variant; variant = left.shift()) {
      const result = await program.ask({ name: variant.name, seed });
      all.set(variant, result);
      console.log(`\n${variant.name}: ${result.calls} calls, ${result.refused} refused`);
      for (const floor of result.floors)
        console.log(`  ${floor.holds ? '✓' : '✗'} ${floor.name}: ${shown(floor)}, ${limitOf(floor)}`);
    }
    await program.close();
  };
  await Promise.all(Array.from({ length: processes }, work));
  return asked.flatMap((variant) => all.get(variant) ?? []);
};
