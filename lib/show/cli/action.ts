import type { Command } from 'commander';
import type { Cli, CommandContext } from './command-context.ts';

/** What a file of `actions/` exports. `act` receives the arguments as typed, then the options. */
type Action = { act(context: CommandContext, ...typed: never[]): Promise<void> };

/** A command's code is loaded when the command runs, so that none waits for the dependencies of others. */
export const action =
  (cli: Cli, load: () => Promise<Action>) =>
  async (...typed: unknown[]): Promise<void> => {
    const command = typed.pop() as Command;
    const [{ contextOf }, { act }] = await Promise.all([import('./command-context.ts'), load()]);
    await act(contextOf(cli, command), ...(typed as never[]));
  };
