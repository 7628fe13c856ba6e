import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { startStack } from '../local/stack.ts';
import { atMost, atMostTimes, type Floor, figureOf, type Section, spreadOf } from './report.ts';

export type CommandScale = { rounds: number };

const bin = resolve(import.meta.dirname, '../../lib/show/cli/sis-relay.js');
const empty = 'an empty Node';

/** What ends a process tells what CPU it took, and nothing that costs more than a millisecond. */
const meter = ['--require', resolve(import.meta.dirname, 'cpu.cjs')];

/** Those that ask nobody, and those that ask the stack on this machine, which runs in this process. */
const alone = ['--version', '--help', 'letters list --nope', 'completion bash'];
const asking = ['letters list', 'letters groups', 'status'];

/** The CPU of the command `sis-relay`, beside a Node that does nothing. */
export const measureCommand = async ({ rounds }: CommandScale): Promise<Section> => {
  const folder = await mkdtemp(join(tmpdir(), 'sis-relay-bench-'));
  const stack = await startStack({ functions: false });
  const file = join(folder, 'stack.json');
  await writeFile(file, JSON.stringify(stack.description));
  const measured = new Map([empty, ...alone, ...asking].map((name): [string, number[]] => [name, []]));
  try {
    for (let round = 0; round <= rounds; round += 1)
      for (const [name, all] of measured) {
        const words = name === empty ? ['-e', ''] : [bin, ...name.split(' ')];
        const cpuMs = await cpuOf([...words, ...(asking.includes(name) ? ['--stack', file] : [])]);
        // The first time Node compiles what it keeps for the others.
        if (round > 0) all.push(cpuMs);
      }
  } finally {
    await stack.close();
    await rm(folder, { recursive: true });
  }
  const figure = (name: string, names: string[], floors: Floor[]) => {
    const values = Object.fromEntries([empty, ...names].map((each) => [each, measured.get(each) ?? []]));
    return figureOf(name, 'ms', values, floors);
  };
  const emptyMs = measured.get(empty) ?? [];
  /** In milliseconds where a process starts as fast as on most machines, and always in processes that do nothing. */
  const within = (name: string, limitMs: number, limit: number): Floor[] => {
    const all = measured.get(name) ?? [];
    const median = Math.round(spreadOf(emptyMs).median);
    const accepted = { limit: limit * median, reason: `an empty Node takes ${median} ms on this machine` };
    const times = atMostTimes(limit, { peer: empty, ours: all, theirs: emptyMs });
    return [
      { ...atMost(limitMs, `\`${name}\` ≤ ${limitMs} ms`, all), accepted },
      { ...times, name: `\`${name}\` ${times.name}` },
    ];
  };
  return {
    title: 'A command',
    about:
      'A process of its own each time, npx not counted, and what Node keeps of the sources is there. The stack that some ask ' +
      'is that of `npm run local`, without functions and letters, in another process.',
    figures: [
      figure('CPU, asking nobody', alone, within('--version', 250, 4)),
      figure('CPU, asking the stack', asking, [
        ...within('letters list', 700, 20),
        ...within('status', 700, 25),
      ]),
    ],
  };
};

const cpuOf = async (words: string[]): Promise<number> => {
  const child = spawn(process.execPath, [...meter, ...words], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
  });
  const [told, complaints, [status]] = await Promise.all([
    text(child.stdio[3] as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, 'exit'),
  ]);
  // 1: there are no letters. 2: the option that there is not.
  if (status > (words.includes('--nope') ? 2 : 1)) throw new Error(`${words.join(' ')}: ${complaints}`);
  return Number(told);
};
