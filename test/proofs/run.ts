import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { type Proof, programOf, type Size } from './list.ts';
import { commitOf, isUnchangedSince, machine, type Result, sizeOf, writeResult } from './results.ts';

const root = resolve(import.meta.dirname, '../..');

type RunOptions = {
  seed: number;
  size: Size;
  /** Options of the proof's own, which give it another size: then nothing is recorded. */
  more?: string[];
  /** When it is stopped. */
  endsMs: number;
  onText?(text: string): void;
};

type Ran = { passed: boolean; figures: string[]; output: string; minutes: number };

/** A longer one ends at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Runs a proof, and records the result. Undefined: it was stopped. */
export const runProof = async (
  proof: Proof,
  { seed, size, more = [], endsMs, onText }: RunOptions,
): Promise<Ran | undefined> => {
  const startedMs = Date.now();
  const commit = commitOf(proof);
  const option = proof.seed === '--seed' ? ['--seed', String(seed)] : [];
  const words = ['test/run.js', ...programOf(proof, size), ...option, ...more];
  // What takes no seed must not take that of the shell: the command that repeats it has none.
  const SEED = proof.seed === 'SEED' ? String(seed) : undefined;
  mkdirSync(join(root, '.proofs'), { recursive: true });
  const log = createWriteStream(join(root, `.proofs/${proof.name}.log`));
  const guard = spawn(process.execPath, ['test/proofs/guard.js', ...words], {
    cwd: root,
    stdio: 'pipe',
    env: { ...process.env, SEED },
    detached: process.platform !== 'win32',
  });
  guard.stdin.on('error', () => {});
  let isStopped = false;
  const timer = setTimeout(
    () => {
      isStopped = true;
      guard.stdin.end();
    },
    Math.min(endsMs - startedMs, maxTimerMs),
  );
  let output = '';
  for (const stream of [guard.stdout, guard.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      log.write(text);
      onText?.(text);
    });
  const [status] = await once(guard, 'close');
  clearTimeout(timer);
  log.end();
  if (isStopped) return undefined;
  output = stripVTControlCharacters(output);
  const figures = [...new Set([...output.matchAll(proof.figures)].map(([line]) => line.trim()))].slice(0, 20);
  // What shows no figure proved nothing.
  const passed = status === 0 && figures.length > 0;
  const minutes = Math.ceil((Date.now() - startedMs) / 60_000);
  const result: Result = {
    passed,
    figures,
    size: sizeOf(proof, size),
    seed: proof.seed && seed,
    minutes,
    at: new Date().toISOString(),
    // What it proves may have changed meanwhile.
    commit: commit !== undefined && isUnchangedSince(proof, commit) ? commit : undefined,
    machine,
  };
  if (more.length === 0) writeResult(proof, result);
  return { passed, figures, output, minutes };
};
