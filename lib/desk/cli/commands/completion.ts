import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Argument, type Command, type Option } from 'commander';
import { letterKinds } from '../../../message/failure-kinds.ts';
import { functionNames, integrationNames } from '../../../stage/function-names.ts';
import type { Cli } from '../command-context.ts';

/**
 * Each script calls the program when the completion key is pressed. The program prints a word per line, with two spaces before its
 * description.
 */
const scripts = {
  bash: `_sis_relay() {
  local IFS=$'\\n'
  COMPREPLY=($(sis-relay complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null | sed 's/  .*//'))
}
complete -o filenames -F _sis_relay sis-relay`,
  // Autoloaded from fpath the file is the function's body; sourced, it only defines the function.
  zsh: `#compdef sis-relay
_sis_relay() {
  local -a found=("\${(@f)$(sis-relay complete -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  found=("\${found[@]/  /:}")
  _describe sis-relay found
}
if [ "$funcstack[1]" = _sis-relay ]; then _sis_relay "$@"; else compdef _sis_relay sis-relay; fi`,
  fish: `complete -c sis-relay -f -a '(sis-relay complete -- (commandline -opc)[2..] (commandline -ct) 2> /dev/null | string replace -- "  " \\t)'`,
};

type Shell = keyof typeof scripts;

export const addCompletion = (program: Command, cli: Cli): void => {
  program
    .command('completion')
    .description('prints a script with which your shell completes commands, options, kinds and functions')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(scripts)))
    .addHelpText('after', examples)
    .action((shell: Shell, _options, command: Command) => {
      if (command.optsWithGlobals().json) cli.collect({ shell, script: scripts[shell].split('\n') });
      else cli.terminal.out(`${scripts[shell]}\n`);
    });
  program
    .command('complete', { hidden: true })
    .argument('[word...]')
    .action((words: string[]) =>
      cli.terminal.out(
        candidates(program, words)
          .map((each) => `${each}\n`)
          .join(''),
      ),
    );
};

/** Candidates for the last of these words. */
const candidates = (program: Command, words: string[]): string[] => {
  const [last = '', previous = ''] = words.toReversed();
  // After `help`, the same words may follow as without it.
  let at = program;
  for (const word of words.slice(0, -1)) at = at.commands.find((each) => each.name() === word) ?? at;
  const command = at.name() === 'help' ? commandOf(program, words.slice(1, -1)) : at;
  const help = program.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleOptions(program)];
  const option = options.find(({ long, required }) => required && long === previous);
  const all = option ? valuesOf(option, last) : [...wordsOf(command, last), ...optionsOf(options)];
  return [...new Set(all)].filter((each) => each.startsWith(last));
};

const commandOf = (program: Command, names: string[]): Command =>
  names.reduce((at, name) => at.commands.find((each) => each.name() === name) ?? at, program);

const valuesOf = ({ long, flags, argChoices }: Option, last: string): string[] => {
  if (flags.includes('<file>')) return filesFor(last);
  return { '--kind': [...letterKinds], '--function': integrationNames() }[long ?? ''] ?? argChoices ?? [];
};

const wordsOf = (command: Command, last: string): string[] => {
  const [argument] = command.registeredArguments;
  const values = argument?.name() === 'function' ? functionNames() : (argument?.argChoices ?? []);
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((each) => `${each.name()}  ${each.description()}`);
  return [...names, ...values, ...(argument?.name() === 'file' ? filesFor(last) : [])];
};

const optionsOf = (options: readonly Option[]): string[] =>
  options.flatMap(({ long, description }) => (long ? [`${long}  ${description}`] : []));

const filesFor = (beginning: string): string[] => {
  const folder = beginning.endsWith('/') ? beginning : dirname(beginning);
  try {
    return readdirSync(folder)
      .filter((name) => beginning.endsWith('/') || name.startsWith(basename(beginning)))
      .map((name) => (folder === '.' && !beginning.startsWith('.') ? name : join(folder, name)));
  } catch {
    return [];
  }
};

const examples = `
Examples:
  sis-relay completion bash > ~/.local/share/bash-completion/completions/sis-relay
  sis-relay completion zsh > ~/.zfunc/_sis-relay          with ~/.zfunc in fpath, before compinit
  sis-relay completion fish > ~/.config/fish/completions/sis-relay.fish

It completes the command \`sis-relay\`, so the command must have that name, as after npm link.`;
