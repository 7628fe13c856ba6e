import { optionsOf } from './options.ts';
import { minutesOf, type Proof, proofs, type Size } from './proofs/list.ts';
import { isDue, readResults, repeatOf, stateOf } from './proofs/results.ts';
import { runProof } from './proofs/run.ts';

const usage =
  'npm run proofs -- --hours N --seed N --weekly --list, or --only NAME --seed N -- options of that proof';

/** A whole number for each day: 20261031. */
const seedOfToday = (): number => Number(new Date().toISOString().slice(0, 10).replaceAll('-', ''));

/**
 * `npm run proofs`: runs each long proof that has no fresh result, the oldest first, and writes test/proofs.md. The exit status is 0 exactly
 * if all of them have passed on what is checked out. A proof that has passed is not repeated, so a run that was ended goes on with the next.
 */
export const command = async (args: string[]): Promise<void> => {
  const split = args.includes('--') ? args.indexOf('--') : args.length;
  const [own, more] = [args.slice(0, split), args.slice(split + 1)];
  const options = {
    hours: { type: 'string', default: '24' },
    seed: { type: 'string', default: String(seedOfToday()) },
    weekly: { type: 'boolean', default: false },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
  } as const;
  const { only, list, weekly, ...texts } = optionsOf(options, { usage, args: own });
  const [hours, seed] = [Number(texts.hours), Number(texts.seed)];
  if (!(hours > 0) || !Number.isSafeInteger(seed) || (more.length > 0 && only === undefined))
    return refuse(usage);
  const chosen = proofs.filter(({ name }) => only === undefined || name === only);
  if (chosen.length === 0)
    return refuse(`There is no proof ${only}. There are: ${proofs.map(({ name }) => name).join(', ')}.`);
  if (list) return show(chosen);
  for (const [name, status] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
    process.once(name, () => {
      console.log(
        `\nEnded. The same command goes on where this one ended: on another day, with --seed ${seed}.`,
      );
      process.exit(status);
    });
  const run = { seed, size: weekly ? 'weekly' : 'hourly', endsMs: Date.now() + hours * 3_600_000 } as const;
  await (only === undefined ? proveAll(chosen, run) : proveOne(chosen[0] as Proof, { ...run, more }));
};

const refuse = (problem: string): void => {
  console.error(problem);
  process.exitCode = 2;
};

const show = (chosen: readonly Proof[]): void => {
  const results = readResults();
  for (const proof of chosen) {
    const result = results[proof.name];
    const when = result ? `, ${result.at.slice(0, 10)}, ${result.size}` : '';
    console.log(`${stateOf(proof, result).padEnd(10)}${proof.name}${when}`);
    for (const line of result?.figures ?? []) console.log(`          ${line}`);
  }
};

type Run = { seed: number; size: Size; endsMs: number };

const noFigure = 'It printed none of the lines that show what it proved.';

const proveOne = async (proof: Proof, run: Run & { more: string[] }): Promise<void> => {
  const ran = await runProof(proof, { ...run, onText: (text) => void process.stdout.write(text) });
  if (ran?.figures.length === 0) console.error(noFigure);
  process.exitCode = ran?.passed ? 0 : 1;
};

const proveAll = async (chosen: readonly Proof[], run: Run): Promise<void> => {
  const before = readResults();
  const due = chosen
    .filter((proof) => isDue(proof, before[proof.name], run.size))
    .sort((one, other) => ((before[one.name]?.at ?? '') < (before[other.name]?.at ?? '') ? -1 : 1));
  console.log(
    `${chosen.length - due.length} of ${chosen.length} proofs have a fresh result. From seed ${run.seed}:`,
  );
  const [failed, unproved]: [string[], string[]] = [[], []];
  for (const proof of due) {
    const { name } = proof;
    const minutes = minutesOf(proof, run.size);
    if (Date.now() + minutes * 60_000 > run.endsMs) {
      console.log(`- ${name}: left out, as it takes about ${minutes} minutes`);
      unproved.push(name);
      continue;
    }
    console.log(`› ${name}, about ${minutes} minutes. Its output: .proofs/${name}.log`);
    const ran = await runProof(proof, run);
    if (ran === undefined) {
      console.log(`- ${name}: stopped, as the time is over`);
      unproved.push(name);
      continue;
    }
    console.log(`${ran.passed ? '✓' : '✗'} ${name}, ${ran.minutes} min`);
    for (const line of ran.figures) console.log(`    ${line}`);
    if (ran.passed) continue;
    failed.push(name);
    if (ran.figures.length === 0) console.log(`    ${noFigure}`);
    for (const line of ran.output.trim().split('\n').slice(-15)) console.log(`    │ ${line}`);
    console.log(`    Again: ${repeatOf(proof, run)}`);
  }
  const held = chosen.length - failed.length - unproved.length;
  const without = [
    failed.length > 0 ? `; failed: ${failed.join(', ')}` : '',
    unproved.length > 0 ? `; no time for: ${unproved.join(', ')}` : '',
  ].join('');
  console.log(`\n${held} of ${chosen.length} proofs hold${without}. The page: test/proofs.md`);
  process.exitCode = held === chosen.length ? 0 : 1;
};
