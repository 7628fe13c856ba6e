import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { transformSync } from 'esbuild';

export type FunctionProcess = ReturnType<typeof startProcess>;

type ProcessOptions = {
  taskRoot: string;
  /** AWS' own runtime client in the place of ours, which is lighter. */
  awsRuntime: boolean;
  env: Record<string, string>;
  /** Undefined: as much as Node takes. */
  memoryMb: number | undefined;
  /** Where it has a folder for temporary files, which goes with it, as in Lambda. */
  temporary: string;
  onLog(line: string): void;
  /** Once, also when the process could not be started. */
  onEnd(reason: string): void;
};

const runtimePath = resolve(import.meta.dirname, 'runtime.ts');
let runtime: string | undefined;

const awsRuntimePath = resolve(import.meta.dirname, 'aws-runtime.ts');

/** Starts a runtime with this environment and nothing of its own but PATH, HOME, TMPDIR and where compiled code is kept. */
export function startProcess({
  taskRoot,
  awsRuntime,
  env,
  memoryMb,
  temporary,
  onLog,
  onEnd,
}: ProcessOptions) {
  // Stripping its types in each process would add 30 ms and 17 MB to every cold start.
  runtime ??= transformSync(readFileSync(runtimePath, 'utf8'), { loader: 'ts', format: 'esm' }).code;
  const program = awsRuntime ? [awsRuntimePath] : ['--input-type=module', '--eval', runtime];
  // About as Lambda's runtime does: JavaScript runs out of memory before the whole process does.
  const limits = memoryMb === undefined ? [] : [`--max-old-space-size=${Math.floor(memoryMb * 0.9)}`];
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const folder = mkdtempSync(join(temporary, 'container-'));
  const child = spawn(process.execPath, [...limits, ...program], {
    cwd: taskRoot,
    env: { PATH, HOME, TMPDIR: folder, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A session of its own: Ctrl-C in a terminal reaches the stack alone, which then ends its functions in good order.
    detached: process.platform !== 'win32',
  });
  for (const stream of [child.stdout, child.stderr]) eachLine(stream, onLog);
  const end = (reason: string) => {
    rmSync(folder, { recursive: true, force: true });
    onEnd(reason);
  };
  child.once('error', ({ message }) => child.pid === undefined && end(`Error: ${message}`));
  child.once('exit', (code, signal) => end(exitReason(code, signal)));
  return { pid: child.pid, signal: (signal: NodeJS.Signals) => child.kill(signal) };
}

/** Resident; undefined where there is no /proc, or no such process. */
export function memoryMbOf(pid: number): number | undefined {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes) / 1024 ** 2;
  } catch {
    return undefined;
  }
}

const pageBytes = 4_096;

export type Watchdog = ReturnType<typeof startWatchdog>;

/**
 * Ends the processes, and removes their temporary files, when this one is gone, even by SIGKILL: their connection tells the
 * most of them, but one in an endless loop would never notice.
 */
export function startWatchdog() {
  const temporary = mkdtempSync(join(tmpdir(), 'sis-relay-lambda-'));
  // There are no stopped processes on Windows, and no sh.
  const dog =
    process.platform === 'win32'
      ? null
      : spawn('/bin/sh', ['-c', watch, 'watchdog', temporary], {
          stdio: ['pipe', 'ignore', 'ignore'],
          detached: true,
        });
  dog?.unref();
  dog?.stdin.on('error', () => {});
  return {
    temporary,
    started: (pid: number) => dog?.stdin.write(`+ ${pid}\n`),
    // A process id is given anew: one that has ended may belong to a stranger.
    ended: (pid: number) => dog?.stdin.write(`- ${pid}\n`),
    async close() {
      if (dog && dog.exitCode === null && dog.signalCode === null) {
        dog.ref();
        const exit = once(dog, 'exit');
        dog.stdin.end();
        await exit;
      }
      rmSync(temporary, { recursive: true, force: true });
    },
  };
}

const watch = `
  while read -r change pid; do
    kept=
    for known in $pids; do [ "$known" = "$pid" ] || kept="$kept $known"; done
    pids=$kept
    [ "$change" = - ] || pids="$pids $pid"
  done
  [ -z "$pids" ] || kill -9 $pids
  rm -rf "$1"`;

function eachLine(stream: Readable, onLine: (line: string) => void) {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  stream.on('end', () => rest && onLine(rest));
}

function exitReason(code: number | null, signal: NodeJS.Signals | null) {
  if (signal) return `Error: Runtime exited with error: signal: ${signalNames[signal] ?? signal}`;
  return code === 0
    ? 'Error: Runtime exited without providing a reason'
    : `Error: Runtime exited with error: exit status ${code}`;
}

const signalNames: Partial<Record<NodeJS.Signals, string>> = {
  SIGKILL: 'killed',
  SIGTERM: 'terminated',
  SIGABRT: 'aborted',
  SIGSEGV: 'segmentation fault',
};
