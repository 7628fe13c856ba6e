import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const folder = resolve(import.meta.dirname, '../../../lib/views');

test.each(readdirSync(folder))(
  '%s has no command or option to type: a browser shows its sentences',
  (file) => {
    const source = readFileSync(resolve(folder, file), 'utf8');
    expect(source).not.toMatch(/--[a-z]|sis-relay [a-z]/);
  },
);

test.each(readdirSync(folder))('%s leaves the arrow before what is to be done to the terminal', (file) => {
  expect(readFileSync(resolve(folder, file), 'utf8')).not.toMatch(/text: [`'"]→/);
});
