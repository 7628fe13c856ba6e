import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { startStack } from '../local/stack.ts';
import type { Measured, Size } from './bench.ts';
import { lineOf, ratioOf } from './figures.ts';

const bin = resolve(import.meta.dirname, '../../lib/desk/cli/sis-relay.js');
const empty = 'an empty Node';

/** What ends a process writes what CPU it took, and nothing that costs more than a millisecond. */
const meter = ['--require', resolve(import.meta.dirname, 'cpu.cjs')];

/** How often the CPU of an empty Node each may take. The last two ask the stack on this machine, which runs in this process. */
const most = { '--version': 4, 'letters list': 20, status: 25 };

/** The CPU of the command `sis-relay`, in a process of its own each time: with what Node keeps of the sources, without npx. */
export const measureCommand = async ({ rounds }: Size, folder: string): Promise<Measured> => {
  const stack = await startStack({ functions: false });
  const file = join(folder, 'stack.json');
  await writeFile(file, JSON.stringify(stack.description));
  const cpuMs: Record<string, number[]> = { [empty]: [] };
  for (const name of Object.keys(most)) cpuMs[name] = [];
  try {
    for (let round = 0; round <= rounds; round += 1)
      for (const [name, all] of Object.entries(cpuMs)) {
        const words = name === empty ? ['-e', ''] : [bin, ...name.split(' ')];
        const taken = await cpuOf([
          ...words,
          ...(name in most && name !== '--version' ? ['--stack', file] : []),
        ]);
        // The first time Node compiles what it keeps for the others.
        if (round > 0) all.push(taken);
      }
  } finally {
    await stack.close();
  }
  return {
    lines: [lineOf('CPU of a command', 'ms', cpuMs)],
    floors: Object.entries(most).map(([name, times]) => ({
      name: `CPU of \`${name}\` / ${empty}`,
      ratio: ratioOf(cpuMs[name], cpuMs[empty]),
      target: times,
      tolerance: times,
      reason: 'nothing more',
    })),
  };
};

const cpuOf = async (words: string[]): Promise<number> => {
  const child = spawn(process.execPath, [...meter, ...words], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
  });
  const [taken, complaints, [status]] = await Promise.all([
    text(child.stdio[3] as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, 'exit'),
  ]);
  // 1: there are no letters.
  if (status > 1) throw new Error(`${words.join(' ')}: ${complaints}`);
  return Number(taken);
};
