import { type ParseArgsConfig, parseArgs } from 'node:util';

type Command = { usage: string; args?: string[]; allowNegative?: boolean };

/** A command's options; what it does not know ends it with a sentence, not with a stack. */
export const optionsOf = <const Options extends NonNullable<ParseArgsConfig['options']>>(
  options: Options,
  { usage, args = process.argv.slice(2), allowNegative = false }: Command,
) => {
  try {
    return parseArgs({ args, options, allowNegative }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message.split('. ')[0] : error}. ${usage}`);
    process.exit(2);
  }
};

/** Options that are whole numbers, each with its default and the least that it may be. */
export const numbersOf = <const Name extends string>(
  numbers: Record<Name, [preset: number, least?: number]>,
  command: Command,
): Record<Name, number> => {
  const all = Object.entries<[number, number?]>(numbers);
  const options = Object.fromEntries(
    all.map(([name, [preset]]) => [name, { type: 'string', default: String(preset) } as const]),
  );
  const given = optionsOf(options, command);
  const values = all.map(([name, [, least = 0]]): [string, number] => {
    const value = Number(given[name]);
    if (Number.isSafeInteger(value) && value >= least) return [name, value];
    console.error(`--${name} must be a whole number, ${least} at least. ${command.usage}`);
    return process.exit(2);
  });
  return Object.fromEntries(values) as Record<Name, number>;
};
