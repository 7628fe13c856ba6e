export const shells = ['bash', 'zsh', 'fish'] as const;

/** The command that other commands may follow. */
export const help = 'help';

/** A command as a shell completes it. */
export type CompletedCommand = {
  /** The words that lead to it: none for the program itself. */
  path: string[];
  children: { name: string; description: string }[];
  options: {
    name: string;
    description: string;
    takesValue: boolean;
    isFile: boolean;
    /** All that it may be, where that is known. */
    values: readonly string[];
  }[];
  argument: { isFile: boolean; values: readonly string[] };
};

/** The script's lines. It knows all by itself: a shell need not wait for the program at each key. */
export const completionScript = (
  shell: (typeof shells)[number],
  commands: readonly CompletedCommand[],
): string[] => {
  const [program] = commands;
  // Options of the program may follow every command.
  const everywhere = (program?.options ?? []).filter(({ name }) => !['--help', '--version'].includes(name));
  const whole = commands.map((each) =>
    each === program ? each : { ...each, options: [...each.options, ...everywhere] },
  );
  return { bash, zsh, fish }[shell](whole);
};

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** By name, those that take a value: an option means the same wherever it is. */
const optionsWithValue = (commands: readonly CompletedCommand[]) => [
  ...new Map(
    commands
      .flatMap(({ options }) => options)
      .filter(({ takesValue }) => takesValue)
      .map((option) => [option.name, option]),
  ).values(),
];

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: these are the shells'.
const bash = (commands: readonly CompletedCommand[]): string[] => [
  '# Completion of sis-relay for bash.',
  '_sis_relay() {',
  '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" path="" word i',
  '  for ((i = 1; i < COMP_CWORD; i++)); do',
  '    word="${COMP_WORDS[i]}"',
  '    case "$path/$word" in',
  `      ${pathsOf(commands).join('|')}) path="$path/$word" ;;`,
  '    esac',
  '  done',
  '  COMPREPLY=()',
  '  case "$prev" in',
  ...optionsWithValue(commands).map(
    ({ name, isFile, values }) =>
      `    ${name}) COMPREPLY=($(compgen ${isFile ? '-f' : `-W ${quoted(values.join(' '))}`} -- "$cur")); return ;;`,
  ),
  '  esac',
  '  case "$path" in',
  ...commands.map(({ path, children, options, argument }) => {
    const words = [
      ...children.map(({ name }) => name),
      ...argument.values,
      ...options.map(({ name }) => name),
    ].join(' ');
    const files = argument.isFile ? ' $([[ $cur == -* ]] || compgen -f -- "$cur")' : '';
    return `    ${quoted(pathOf(path))}) COMPREPLY=($(compgen -W ${quoted(words)} -- "$cur")${files}) ;;`;
  }),
  '  esac',
  '}',
  'complete -o filenames -F _sis_relay sis-relay',
];

const pathOf = (path: readonly string[]): string => path.map((word) => `/${word}`).join('');

const pathsOf = (commands: readonly CompletedCommand[]): string[] =>
  commands.flatMap(({ path }) => (path.length === 0 ? [] : quoted(pathOf(path))));

const zsh = (commands: readonly CompletedCommand[]): string[] => [
  '#compdef sis-relay',
  '# Completion of sis-relay for zsh.',
  '_sis_relay() {',
  '  local place="" word',
  '  local -a found',
  '  for word in "${(@)words[2,CURRENT-1]}"; do',
  '    case "$place/$word" in',
  `      ${pathsOf(commands).join('|')}) place="$place/$word" ;;`,
  '    esac',
  '  done',
  '  case "$words[CURRENT-1]" in',
  ...optionsWithValue(commands).map(
    ({ name, isFile, values }) =>
      `    ${name}) ${isFile ? '_files' : `found=(${values.map(quoted).join(' ')}); compadd -a found`}; return ;;`,
  ),
  '  esac',
  '  case "$place" in',
  ...commands.map(({ path, children, options, argument }) => {
    const described = [...children, ...options].map(({ name, description }) =>
      quoted(`${name}:${description.replaceAll(':', '\\:')}`),
    );
    const more = [
      ...(argument.values.length > 0 ? [`compadd -- ${argument.values.map(quoted).join(' ')}`] : []),
      ...(argument.isFile ? ['_files'] : []),
    ];
    return `    ${quoted(pathOf(path))}) found=(${described.join(' ')}); _describe sis-relay found${more.map((each) => `; ${each}`).join('')} ;;`;
  }),
  '  esac',
  '}',
  // Autoloaded from fpath the file is the function's body; sourced, it only defines it.
  'if [ "$funcstack[1]" = _sis-relay ]; then _sis_relay "$@"; else compdef _sis_relay sis-relay; fi',
];

// biome-ignore-end lint/suspicious/noTemplateCurlyInString: these are the shells'.

const fish = (commands: readonly CompletedCommand[]): string[] => {
  const line = (...words: string[]): string => ['complete', '-c', 'sis-relay', ...words].join(' ');
  return [
    '# Completion of sis-relay for fish.',
    line('-f'),
    ...commands.flatMap(({ path, children, options, argument }) => {
      const here = conditionOf(path, children);
      return [
        ...children.map(({ name, description }) => line('-n', here, '-a', name, '-d', quoted(description))),
        ...(path.length === 0 || children.length === 0
          ? options.map(({ name, description, takesValue, isFile, values }) =>
              line(
                ...['-n', here, '-l', name.slice(2)],
                ...(takesValue ? [isFile ? '-r -F' : '-x'] : []),
                ...(values.length > 0 ? ['-a', quoted(values.join(' '))] : []),
                ...['-d', quoted(description)],
              ),
            )
          : []),
        ...(argument.values.length > 0 ? [line('-n', here, '-a', quoted(argument.values.join(' ')))] : []),
        ...(argument.isFile ? [line('-n', here, '-F')] : []),
      ];
    }),
  ];
};

/** Where all the words of the path were typed, and none yet of those that lead on. */
const conditionOf = (path: readonly string[], children: readonly { name: string }[]): string => {
  const typed = path.map((word) => `__fish_seen_subcommand_from ${word}`);
  const next = children.flatMap(({ name }) => (name === help ? [] : name)).join(' ');
  const conditions = [...typed, ...(next === '' ? [] : [`not __fish_seen_subcommand_from ${next}`])];
  return quoted(conditions.join('; and ') || 'true');
};
