import { numbersOf } from './options.ts';
import { liveTerm, type NightResult } from './university/live.ts';
import { term } from './university/nights.ts';
import { heading, linesOf, summaryOf } from './university/report.ts';

/**
 * `npm run proofs -- --only university`: a term of a student information system that drops an export each night. The exit status is 0 exactly if the
 * platform was what it must be after each night, by the messages that were needed, and the import was killed in both of its phases.
 */
export const command = async (args: string[]): Promise<void> => {
  const { students, seed } = numbersOf(
    { students: [20_000, 300], seed: [1] },
    { usage: 'npm run proofs -- --only university --seed N -- --students N', args },
  );
  const startedMs = performance.now();
  console.log(`A university of ${students} students, from seed ${seed}\n\n${heading}`);
  const results: NightResult[] = [];
  const told = (result: NightResult): void => {
    for (const line of linesOf(result, results.length)) console.log(line);
    results.push(result);
  };
  try {
    await liveTerm({ students, seed, nights: term, told });
  } catch (error) {
    console.log(`It broke off: ${error}`);
  }
  const killed = new Set(results.flatMap((result) => result.killed));
  for (const phase of ['compare', 'send'])
    if (!killed.has(phase)) console.log(`No import was killed in the phase ${phase}, which proves nothing`);
  console.log(`\nIn ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  console.log(summaryOf(results, term.length));
  const isWell = results.length === term.length && results.every(({ problems }) => problems.length === 0);
  process.exitCode = isWell && killed.size === 2 ? 0 : 1;
};
