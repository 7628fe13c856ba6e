import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { quietProgram } from '../cli/typed.ts';

const lib = resolve(import.meta.dirname, '../../../../lib');
const program = await quietProgram();
const verbs = program.commands.map((each) => each.name());
const typed = new RegExp(`--[a-z]|sis-relay (?:${verbs.join('|')})\\b`);
/** A text that is a command or options as a whole is for `command`. */
const commands = new RegExp(`\`(?:${verbs.join('|')}| ?--)[^\`]*\`|'(?:${verbs.join('|')}| ?--)[^']*'`, 'g');

/** Of the core, and of options. */
const views = readdirSync(lib, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => /\/views\/[^/]+\.ts$|\/desk\/view\.ts$/.test(file));

test.each(views)('%s has commands and options as commands alone: a browser shows the sentences', (file) => {
  const source = readFileSync(resolve(lib, file), 'utf8');
  expect(source.replace(commands, '')).not.toMatch(typed);
});

test.each(views)('%s leaves the arrow before what is to be done to the terminal', (file) => {
  expect(readFileSync(resolve(lib, file), 'utf8')).not.toMatch(/text: [`'"]→/);
});
