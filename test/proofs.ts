import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { optionsOf } from './options.ts';
import { type Proof, proofs } from './proofs/list.ts';
import { recordReport } from './proofs/on-aws.ts';
import {
  commitOf,
  isUnchangedSince,
  machine,
  type Result,
  readResults,
  repeatOf,
  stateOf,
  writeResults,
} from './proofs/results.ts';

const usage =
  'npm run proofs -- --hours N --seed N --again --list, --only NAME --seed N -- options of that proof, or --record FILE for a report of doctor';
const root = resolve(import.meta.dirname, '..');
const logs = join(root, '.proofs');

/** A whole number for each day: 20261031. */
const seedOfToday = (): number => Number(new Date().toISOString().slice(0, 10).replaceAll('-', ''));

let running: ChildProcess | undefined;

/** With all that it started: much of that is deaf while it waits for a process of its own. */
const signal = (child: ChildProcess, name: NodeJS.Signals): void => {
  try {
    if (child.pid === undefined || process.platform === 'win32') child.kill(name);
    else process.kill(-child.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};

/**
 * `npm run proofs`: runs each long proof that has no fresh result, the oldest first, and writes test/proofs.md. The exit status is 0 exactly
 * if all of them have passed on what is checked out. A proof that has passed is not repeated, so a run that was ended goes on with the next.
 */
export const command = async (args: string[]): Promise<void> => {
  const split = args.indexOf('--');
  const [own, more] = split < 0 ? [args, []] : [args.slice(0, split), args.slice(split + 1)];
  const options = {
    hours: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(seedOfToday()) },
    only: { type: 'string' },
    again: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    record: { type: 'string' },
  } as const;
  const { only, again, list, record, ...texts } = optionsOf(options, { usage, args: own });
  if (record !== undefined) return keep(record);
  const [hours, seed] = [Number(texts.hours), Number(texts.seed)];
  if (!(hours > 0) || !Number.isSafeInteger(seed) || (more.length > 0 && only === undefined))
    return refuse(usage);
  const asked = proofs.filter(({ name }) => only === undefined || name === only);
  if (asked.length === 0)
    return refuse(`There is no proof ${only}. There are: ${proofs.map(({ name }) => name).join(', ')}.`);
  if (list) return show(asked);
  endWithSignals(seed);
  if (only !== undefined && asked[0]) return await proveOne(asked[0], { seed, more });
  await proveAll(asked, { again, seed, endsMs: Date.now() + hours * 3_600_000 });
};

const refuse = (problem: string): void => {
  console.error(problem);
  process.exitCode = 2;
};

/** A report of doctor. */
const keep = (file: string): void => {
  recordReport(file);
  writeResults(readResults());
  console.log('The page has it: test/proofs.md. Commit that, and test/proofs/aws.');
};

const show = (asked: readonly Proof[]): void => {
  const results = readResults();
  for (const proof of asked) {
    const result = results[proof.name];
    console.log(
      `${stateOf(proof, result).padEnd(10)}${proof.name}${result ? `, ${result.at.slice(0, 10)}` : ''}`,
    );
    for (const line of result?.figures ?? []) console.log(`          ${line}`);
  }
};

const endWithSignals = (seed: number): void => {
  for (const [name, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)
    process.once(name, () => {
      if (running) signal(running, 'SIGTERM');
      console.log(
        `\nEnded. The same command goes on where this one ended: on another day, with --seed ${seed}.`,
      );
      process.exit(status);
    });
};

/** A longer one ends at once. */
const maxTimerMs = 2 ** 31 - 1;

type Ran = { passed: boolean; output: string };

/** `onText` gets its output as it is; the log keeps it. `endsMs`: when it is stopped. */
const run = async (
  proof: Proof,
  {
    seed,
    more = [],
    onText,
    endsMs,
  }: { seed: number; more?: string[]; onText?: (text: string) => void; endsMs?: number },
): Promise<Ran | undefined> => {
  const option = proof.seed === '--seed' ? ['--seed', String(seed)] : [];
  // What takes none must not take that of the shell: the command that repeats it has none.
  const SEED = proof.seed === 'SEED' ? String(seed) : undefined;
  mkdirSync(logs, { recursive: true });
  const log = createWriteStream(join(logs, `${proof.name}.log`));
  const child = spawn(process.execPath, ['test/run.js', ...proof.program, ...option, ...more], {
    ...{ cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, SEED } },
    detached: process.platform !== 'win32',
  });
  running = child;
  let isStopped = false;
  const stop = (): void => {
    isStopped = true;
    signal(child, 'SIGTERM');
    timer = setTimeout(() => signal(child, 'SIGKILL'), 30_000);
  };
  let timer = endsMs === undefined ? undefined : setTimeout(stop, Math.min(endsMs - Date.now(), maxTimerMs));
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      log.write(text);
      onText?.(text);
    });
  const [status] = await once(child, 'close');
  clearTimeout(timer);
  running = undefined;
  log.end();
  await once(log, 'close');
  if (isStopped) return undefined;
  const output = stripVTControlCharacters(readFileSync(join(logs, `${proof.name}.log`), 'utf8'));
  return { passed: status === 0, output };
};

const recorded = (proof: Proof, { passed, output }: Ran, { seed, startedMs, commit }: Begun): Result => {
  const figures = [...new Set([...output.matchAll(proof.figures)].map(([line]) => line.trim()))].slice(0, 20);
  const result: Result = {
    // What shows no figure proved nothing.
    ...{ passed: passed && figures.length > 0, figures, machine, at: new Date().toISOString() },
    seed: proof.seed && seed,
    // What it proves may have changed meanwhile.
    commit: commit !== undefined && isUnchangedSince(proof, commit) ? commit : undefined,
    minutes: Math.ceil((Date.now() - startedMs) / 60_000),
  };
  writeResults({ ...readResults(), [proof.name]: result });
  return result;
};

const noFigure = 'It printed none of the lines that show what it proved, so it failed.';

type Begun = { seed: number; startedMs: number; commit: string | undefined };
const begin = (proof: Proof, seed: number): Begun => ({
  seed,
  startedMs: Date.now(),
  commit: commitOf(proof),
});

/** With options of its own it has another size, which proves less: then nothing is recorded. */
const proveOne = async (proof: Proof, { seed, more }: { seed: number; more: string[] }): Promise<void> => {
  const begun = begin(proof, seed);
  const ran = await run(proof, { seed, more, onText: (text) => void process.stdout.write(text) });
  const result = ran && more.length === 0 ? recorded(proof, ran, begun) : ran;
  if (ran?.passed && !result?.passed) console.error(noFigure);
  process.exitCode = result?.passed ? 0 : 1;
};

type All = { again: boolean; seed: number; endsMs: number };

const proveAll = async (asked: readonly Proof[], { again, seed, endsMs }: All): Promise<void> => {
  const before = readResults();
  const due = asked
    .filter((proof) => again || stateOf(proof, before[proof.name]) !== 'passed')
    .sort((one, other) => ((before[one.name]?.at ?? '') < (before[other.name]?.at ?? '') ? -1 : 1));
  console.log(
    `${asked.length - due.length} of ${asked.length} proofs have a fresh result. From seed ${seed}:`,
  );
  const [failed, unproved]: [string[], string[]] = [[], []];
  for (const proof of due) {
    const begun = begin(proof, seed);
    const { name } = proof;
    const last = before[name]?.machine === machine ? before[name].minutes : 0;
    const minutes = Math.max(proof.minutes, last);
    if (begun.startedMs + minutes * 60_000 > endsMs) {
      console.log(`- ${name}: left out, as it takes about ${minutes} minutes`);
      unproved.push(name);
      continue;
    }
    console.log(`› ${name}, about ${minutes} minutes. Its output: .proofs/${name}.log`);
    const ran = await run(proof, { seed, endsMs });
    if (ran === undefined) {
      console.log(`- ${name}: stopped, as the time is over`);
      unproved.push(name);
      continue;
    }
    const result = recorded(proof, ran, begun);
    console.log(`${result.passed ? '✓' : '✗'} ${name}, ${result.minutes} min`);
    for (const line of result.figures) console.log(`    ${line}`);
    if (result.passed) continue;
    failed.push(name);
    if (ran.passed) console.log(`    ${noFigure}`);
    for (const line of ran.output.trim().split('\n').slice(-15)) console.log(`    │ ${line}`);
    console.log(`    Again: ${repeatOf(proof, seed)}`);
  }
  console.log(
    `\n${asked.length - failed.length - unproved.length} of ${asked.length} proofs hold${failed.length > 0 ? `; failed: ${failed.join(', ')}` : ''}${unproved.length > 0 ? `; no time for: ${unproved.join(', ')}` : ''}. The page: test/proofs.md`,
  );
  process.exitCode = failed.length + unproved.length > 0 ? 1 : 0;
};
