import { Argument, type Command } from 'commander';
import { functionNames, integrationNames } from '../../deployment/function-names.ts';
import { letterKinds } from '../../desk/letter-kinds.ts';
import type { Cli } from '../command-context.ts';
import { type CompletedCommand, completionScript, help, shells } from '../print/completion.ts';

type Shell = (typeof shells)[number];

export const addCompletion = (program: Command, cli: Cli): void => {
  program
    .command('completion')
    .description('prints a script with which your shell completes commands, options, kinds and functions')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText('after', examples)
    .action(async (shell: Shell, _options, command: Command) => {
      const values = {
        kinds: [...letterKinds],
        integrations: integrationNames(),
        functions: functionNames(),
      };
      const script = completionScript(shell, commandsIn(program, values));
      if (command.optsWithGlobals().json) cli.collect({ shell, script });
      else cli.terminal.out(script.map((line) => `${line}\n`).join(''));
    });
};

type Values = { kinds: string[]; integrations: string[]; functions: string[] };

/** The tree of commands, flat: each by the words that lead to it. */
const commandsIn = (command: Command, values: Values, path: string[] = []): CompletedCommand[] => {
  const children = command.commands.map((each) => ({ name: each.name(), description: each.description() }));
  const options = command.createHelp().visibleOptions(command);
  const [argument] = command.registeredArguments;
  return [
    {
      path,
      children,
      options: options.flatMap(({ long, description, required, argChoices, flags }) =>
        long
          ? {
              name: long,
              description,
              takesValue: required,
              isFile: flags.includes('<file>'),
              values: { '--kind': values.kinds, '--function': values.integrations }[long] ?? argChoices ?? [],
            }
          : [],
      ),
      argument: {
        isFile: argument?.name() === 'file',
        values: argument?.name() === 'function' ? values.functions : (argument?.argChoices ?? []),
      },
    },
    // What follows `help` is what would follow without it.
    ...command.commands
      .filter((each) => each.name() !== help)
      .flatMap((each) => commandsIn(each, values, [...path, each.name()])),
  ];
};

const examples = `
Examples:
  sis-relay completion bash > ~/.local/share/bash-completion/completions/sis-relay
  sis-relay completion zsh > ~/.zfunc/_sis-relay          with ~/.zfunc in fpath, before compinit
  sis-relay completion fish > ~/.config/fish/completions/sis-relay.fish

It completes the command \`sis-relay\`, so the command must have that name, as after npm link.`;
