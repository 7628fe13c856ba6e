import { numbersOf } from '../../options.ts';
import { plantAndFind, plantedKinds } from './effect/planted.ts';

const usage = 'npm run proofs -- --only planted-faults --seed N -- --writes N --faults N';

/**
 * `npm run proofs -- --only planted-faults`: faults planted among writes on the local platform, and what the comparison finds. The exit status is 0 exactly
 * if each is found in its class, and nothing else is.
 */
export const command = async (args: string[]): Promise<void> => {
  const { writes, faults, seed } = numbersOf(
    { writes: [100_000], faults: [1_000, plantedKinds.length + 1], seed: [1] },
    { usage, args },
  );
  if (writes < 10 * faults) {
    console.error(`${usage}, with ten times as many writes as faults at least`);
    process.exitCode = 2;
    return;
  }
  console.log(`${faults} faults among ${writes} writes, from seed ${seed}`);
  const outcome = await plantAndFind({ writes, faults, seed, progress: (text) => console.log(text) });
  const { report, found, problems, seconds } = outcome;
  console.log('\n| planted | faults | found in its class |\n|---|---|---|');
  for (const kind of plantedKinds) console.log(`| ${kind} | ${found[kind].planted} | ${found[kind].found} |`);
  for (const problem of problems.slice(0, 20)) console.log(problem);
  const all = plantedKinds.reduce((sum, kind) => sum + found[kind].found, 0);
  const { looked, uncompared } = report.tallies.recent;
  console.log(
    `\n${all} of ${faults} found, ${problems.length} problems; ${looked} checked, ${uncompared} could not be compared; ${report.calls} calls`,
  );
  console.log(`Written in ${seconds.writing.toFixed(0)} s, compared in ${seconds.comparing.toFixed(0)} s`);
  process.exitCode = all === faults && problems.length === 0 ? 0 : 1;
};
