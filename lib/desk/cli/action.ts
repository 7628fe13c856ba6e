import type { Command } from 'commander';
import type { Cli, CommandContext } from './command-context.ts';

/** Receives the arguments as typed, then the options. */
type Action = (context: CommandContext, ...typed: never[]) => Promise<void>;

/** The code of a command, in a file of `actions/`, is loaded when it runs: none waits for the dependencies of others. */
export const action =
  <Name extends string>(cli: Cli, load: () => Promise<Record<Name, Action>>, name: Name) =>
  async (...typed: unknown[]): Promise<void> => {
    const command = typed.pop() as Command;
    const [{ contextOf }, actions] = await Promise.all([import('./command-context.ts'), load()]);
    await actions[name](contextOf(cli, command), ...(typed as never[]));
  };
