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
