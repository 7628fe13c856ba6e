import { plantAndFind, plantedKinds } from './effect/planted.ts';
import { optionsOf } from './options.ts';

const usage = 'npm run proofs -- --only planted-faults --seed N -- --writes N --faults N';

/**
 * `npm run proofs -- --only planted-faults`: faults planted among writes on the local platform, and what the comparison finds. The exit status is 0 exactly
 * if each is found in its class, and nothing else is.
 */
export const command = async (args: string[]): Promise<void> => {
  const values = optionsOf(
    {
      writes: { type: 'string', default: '100000' },
      faults: { type: 'string', default: '1000' },
      seed: { type: 'string', default: '1' },
    },
    { usage, args },
  );
  const [writes = 0, faults = 0, seed = 0] = [values.writes, values.faults, values.seed].map(Number);
  const areNumbers = [writes, faults, seed].every(Number.isSafeInteger);
  if (!areNumbers || faults < plantedKinds.length + 1 || writes < 10 * faults) {
    console.error(`${usage}, with ${plantedKinds.length + 1} faults and ten times as many writes at least`);
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
