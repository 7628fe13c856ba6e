import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { options } from '../../../../lib/options.ts';
import { brokenBy, type Json } from '../../../package/contract/released.ts';
import { joined, shapeOf } from '../../../package/contract/shape.ts';
import type { localOffice } from './local-office.ts';
import { quietProgram, typed } from './typed.ts';

const root = resolve(import.meta.dirname, '../../../..');

/** What a document for operators has them do: its sections, each with its commands. What it says twice is there once. */
export const situationsIn = (document: string) => {
  const before = new Set<string>();
  const isNew = (line: string): boolean => !before.has(line) && before.add(line).has(line);
  return readFileSync(resolve(root, document), 'utf8')
    .replaceAll('\r', '')
    .split(/^##+ /m)
    .slice(1)
    .map((section) => ({
      title: section.split('\n')[0] ?? '',
      commands: [...section.matchAll(/^npx sis-relay .*$|(?<=`)npx sis-relay [^`]*(?=`)/gm)]
        .map(([command]) => command)
        .filter(isNew),
    }));
};

export const commandsIn = (document: string): string[] =>
  situationsIn(document).flatMap(({ commands }) => commands);

/** The command with all that options add. */
export const program = await quietProgram();

/** The name of the command in a line, as in `sis-relay letters list`, and its own options. */
const commandOf = (line: string) => {
  let at = program;
  const names = ['sis-relay'];
  for (const word of line.replace('npx sis-relay ', '').split(' ')) {
    const next = at.commands.find((each) => each.name() === word);
    if (next === undefined) break;
    at = next;
    names.push(word);
  }
  return { name: names.join(' '), options: at.options.map(({ long }) => long) };
};

/**
 * By which the shape of what a command of a document prints is kept: its name, and where an option's document has a command of others,
 * that option's name too. So each shape is one test's.
 */
export const shapeNameOf = (document: string, command: string): string => {
  const { name } = commandOf(command);
  const [, option] = /^lib\/options\/([^/]+)\//.exec(document) ?? [];
  if (option === undefined) return name;
  const roles: object = options.find((each) => each.name === option)?.roles ?? {};
  return name.replace('sis-relay ', '') in roles ? name : `${name} (${option})`;
};

type Result = Awaited<ReturnType<typeof typed>>;

/** Types a command of a document, and whoever is asked agrees. `more`: what is typed besides. */
export type Follow = (command: string, more?: string) => Promise<Result>;

/** Types a command as it stands, but for what it leaves open (`open`), and for the names of files, which lie in the office's folder. */
export const typeFor = (
  { file, folder }: Pick<ReturnType<typeof localOffice>, 'file' | 'folder'>,
  command: string,
  {
    open = {},
    files = [],
    more = '',
  }: { open?: Record<string, string>; files?: readonly string[]; more?: string | undefined },
): Promise<Result> => {
  const places = { ...open, ...Object.fromEntries(files.map((name) => [name, join(folder, name)])) };
  const line = Object.entries(places).reduce(
    (text, [name, place]) => text.replaceAll(name, () => place),
    command.replace('npx sis-relay ', ''),
  );
  const ending = new AbortController();
  const serves = line.startsWith('console');
  return typed(`${line}${more} --stack ${file}${serves ? ' --no-open --port 0' : ''}`, {
    answers: ['y', 'y'],
    // It serves until Ctrl-C.
    ...(serves && { signal: ending.signal, onOut: () => ending.abort() }),
  });
};

type Expectations = {
  /** Default: yes, all commands. */
  isThere?(command: string): boolean;
  /** Commands that are typed in a shorter form, as they would do the same again. */
  shortened?(command: string): string;
  /** Commands that are well if they end with 1. */
  endsWith1?: RegExp;
  /** Commands that no document has, for scripts. */
  others?: readonly string[];
};

export const expectAnswer = async (result: Result, expected = 0): Promise<void> => {
  const { status, out, err } = result;
  expect({ status, err: status === expected ? '' : err + out }).toEqual({ status: expected, err: '' });
  expect(out).not.toBe('');
};

/** A test of each command of a document, and one that compares what they print with --json with what they printed in the last release. */
export const typeEachCommand = (
  document: string,
  follow: Follow,
  { isThere = () => true, shortened = (command) => command, endsWith1, others = [] }: Expectations = {},
): void => {
  const situations = situationsIn(document)
    .map(({ title, commands }) => ({ title, commands: commands.filter(isThere) }))
    .filter(({ commands }) => commands.length > 0);
  const expectedOf = (command: string): number => (endsWith1?.test(command) ? 1 : 0);

  describe.each(situations)('“$title”', ({ commands }) => {
    test.each(commands)('%s', async (command) => {
      await expectAnswer(await follow(shortened(command)), expectedOf(command));
    });
  });

  test(`with --json, each command of ${document} prints what it printed in the last release`, {
    tags: ['long'],
  }, async () => {
    const shapes: Record<string, Json> = {};
    for (const command of [...situations.flatMap(({ commands }) => commands), ...others]) {
      const { name, options: own } = commandOf(command);
      if (shortened(command) !== command || name === 'sis-relay console') continue;
      const yes = own.includes('--yes') && !command.includes('--yes') ? ' --yes' : '';
      const { out, err } = await follow(command, ` --json${yes}`);
      expect(out, `${command}: ${err}`).toMatch(/^\{[\s\S]*\}\n$/);
      const shape = shapeNameOf(document, command);
      shapes[shape] = joined(shapes[shape] ?? {}, shapeOf(JSON.parse(out)));
    }
    expect(Object.keys(shapes)).not.toEqual([]);
    expect(brokenBy('json', shapes, { isPart: true })).toEqual([]);
  });
};
