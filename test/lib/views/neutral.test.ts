import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const lib = resolve(import.meta.dirname, '../../../lib');
const verbs = readdirSync(resolve(lib, 'cli/commands')).map((name) => name.replace('.ts', ''));
const typed = new RegExp(`--[a-z]|sis-relay (?:${verbs.join('|')})\\b`);

test.each(readdirSync(resolve(lib, 'views')))(
  '%s has commands and options as commands alone: a browser shows the sentences',
  (file) => {
    const source = readFileSync(resolve(lib, 'views', file), 'utf8');
    const commands = /\bcommand: (?:`[^`]*`|'[^']*')|\boption: `[^`]*`/g;
    expect(source.replace(commands, '')).not.toMatch(typed);
  },
);

test.each(readdirSync(resolve(lib, 'views')))(
  '%s leaves the arrow before what is to be done to the terminal',
  (file) => {
    expect(readFileSync(resolve(lib, 'views', file), 'utf8')).not.toMatch(/text: [`'"]→/);
  },
);
