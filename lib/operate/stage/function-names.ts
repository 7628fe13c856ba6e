import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../../../functions/', import.meta.url);

/** By name: a function is a file of functions/. */
export const functionNames = (): string[] =>
  readdirSync(folder)
    // Editors and systems leave files of their own beside them.
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .sort();

/** Those that have an integration, and with it a queue. Their text tells it: to load them all takes a hundred times as long. */
export const integrationNames = (): string[] => namesWith(/^export const integration\b/m);

/** Those without a queue that call the platform. */
export const callingNames = (): string[] => namesWith(/^export const operations\b/m);

const namesWith = (text: RegExp): string[] =>
  functionNames().filter((name) => text.test(readFileSync(new URL(`${name}.ts`, folder), 'utf8')));
