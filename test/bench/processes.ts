import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A program of this folder in a process of its own, that answers what it is asked, one thing at a time. */
export type Program<Asked, Answered> = {
  ask(asked: Asked): Promise<Answered>;
  close(): Promise<void>;
};

export type Launch = {
  program: URL;
  parameters?: string[];
  env?: Record<string, string>;
  execArgv?: string[];
};

/** Its environment is PATH and what is given; its output is read, as Lambda does, and thrown away. */
export const launch = <Asked, Answered>(options: Launch): Program<Asked, Answered> => {
  const child = fork(fileURLToPath(options.program), options.parameters ?? [], {
    env: { PATH: process.env.PATH, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: options.execArgv ?? [],
  });
  let complaints = '';
  child.stdout?.resume();
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-4_000);
  });
  const exit = once(child, 'exit');
  const died = exit.then(([code, signal]): never => {
    throw new Error(`${options.program.pathname} ended (${signal ?? code}): ${complaints}`);
  });
  died.catch(() => {});
  return {
    ask: async (asked) => {
      child.send(asked as object);
      const [answer] = await Promise.race([once(child, 'message'), died]);
      return answer;
    },
    close: async () => {
      child.kill();
      await exit;
    },
  };
};

/** The other end of `launch`. */
export const answerParent = <Asked, Answered>(answer: (asked: Asked) => Promise<Answered>): void => {
  process.on('message', async (asked) => process.send?.(await answer(asked as Asked)));
  // A parent that was killed leaves nothing behind.
  process.on('disconnect', () => process.exit());
};
