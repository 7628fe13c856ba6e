import { fuzzAnswers } from './fuzz/answers.ts';
import { fuzzMessages } from './fuzz/messages.ts';
import { numbersOf } from './options.ts';

// `npm run proofs -- --only fuzz`: so many messages and answers that nobody has seen yet, from a seed that
// is said.

const { messages, answers, seed } = numbersOf(
  { messages: [1_000_000], answers: [1_000_000], seed: [Date.now() % 2 ** 31] },
  { usage: 'npm run proofs -- --only fuzz --seed N -- --messages N --answers N' },
);

function count(rows: Iterable<[string, number]>): void {
  for (const [what, times] of [...rows].sort(([, one], [, other]) => other - one))
    console.log(`${what.padEnd(50)}${String(times).padStart(10)}`);
}

const problems: string[] = [];
if (answers > 0) {
  console.log(`${answers} answers, from seed ${seed}`);
  const { told, came } = fuzzAnswers(answers, seed);
  count(came);
  console.log(told);
}
if (messages > 0) {
  console.log(`${messages} messages, from seed ${seed}`);
  const report = await fuzzMessages(messages, seed);
  count(report.reached);
  console.log(report.told);
  problems.push(...report.problems);
}
for (const problem of problems) console.log(`✗ ${problem}`);
console.log(problems.length === 0 ? 'All is well.' : `${problems.length} do not hold.`);
process.exitCode = problems.length === 0 ? 0 : 1;
