import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A program of this folder in a process of its own, that answers what it is asked, one thing at a time. */
export type Program<Question, Answered> = {
  ask(question: Question): Promise<Answered>;
  /** The last of what it printed, to say why something failed. */
  lastOutput(): string;
  close(): Promise<void>;
};

export type Launch = {
  program: URL;
  parameters?: string[];
  env?: Record<string, string>;
  execArgv?: string[];
};

/** Its environment is PATH and what is given; its output is read, as Lambda does, and the last of it is kept. */
export const launch = <Question, Answered>(options: Launch): Program<Question, Answered> => {
  const child = fork(fileURLToPath(options.program), options.parameters ?? [], {
    env: { PATH: process.env.PATH, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: options.execArgv ?? [],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4_000);
    });
  const exit = once(child, 'exit');
  const died = exit.then(([code, signal]): never => {
    throw new Error(`${options.program.pathname} ended (${signal ?? code}): ${output}`);
  });
  died.catch(() => {});
  return {
    ask: async (asked) => {
      child.send(asked as object);
      const [answer] = await Promise.race([once(child, 'message'), died]);
      return answer;
    },
    lastOutput: () => output,
    close: async () => {
      child.kill();
      await exit;
    },
  };
};

/** The other end of `launch`. */
export const answerParent = <Question, Answered>(answer: (question: Question) => Promise<Answered>): void => {
  process.on('message', async (question) => process.send?.(await answer(question as Question)));
  // A parent that was killed leaves nothing behind.
  process.on('disconnect', () => process.exit());
};
