import type { Command } from 'commander';
import type { Cli, CommandContext } from './command-context.ts';

/** A file of `actions/` has what one command does with what was typed: its arguments, then its options. */
type Action = { act(context: CommandContext, ...typed: never[]): Promise<void> };

/** What a command does is loaded when it is run, so that none waits for what the others need. */
export const action =
  (cli: Cli, load: () => Promise<Action>) =>
  async (...typed: unknown[]): Promise<void> => {
    const command = typed.pop() as Command;
    const [{ contextOf }, { act }] = await Promise.all([import('./command-context.ts'), load()]);
    await act(contextOf(cli, command), ...(typed as never[]));
  };
