import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { quietProgram } from './typed.ts';

const program = await quietProgram();

/** Every command below, with its words. */
const commandsBelow = (command: Command, words: string[] = []): [words: string, command: Command][] =>
  command.commands.flatMap((each) => {
    const own = [...words, each.name()];
    return [[own.join(' '), each], ...commandsBelow(each, own)];
  });

const flagsOf = (command: Command): string[] =>
  command.options.flatMap(({ short, long }) => [short, long].flatMap((flag) => flag ?? []));

test.each(commandsBelow(program))('%s has no option that a command above it has', (_, command) => {
  const above: string[] = [];
  for (let each = command.parent; each; each = each.parent) above.push(...flagsOf(each));
  expect(flagsOf(command).filter((flag) => above.includes(flag))).toEqual([]);
});
