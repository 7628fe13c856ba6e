import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../../functions/', import.meta.url);

/** The names of the files in functions/. */
export const functionNames = (): string[] =>
  readdirSync(folder)
    // Editors and systems leave files of their own there.
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .sort();

/** Functions that have an integration, and with it a queue. Their source is searched: loading them all takes a hundred times as long. */
export const integrationNames = (): string[] => namesWith(/^export const integration\b/m);

/** Functions without a queue that call the platform. */
export const callingNames = (): string[] => namesWith(/^export const operations\b/m);

const namesWith = (text: RegExp): string[] =>
  functionNames().filter((name) => text.test(readFileSync(new URL(`${name}.ts`, folder), 'utf8')));
