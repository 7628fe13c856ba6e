import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { withoutCommands } from '../../../../lib/desk/console/html/html.ts';

const root = resolve(import.meta.dirname, '../../../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const importsOf = (file: string): string[] =>
  [...read(file).matchAll(/^(?!import type).*?(?:from|import\()\s*'(\.[^']+\.ts)'/gm)].map(([, path = '']) =>
    relative(root, resolve(root, file, '..', path)).replaceAll('\\', '/'),
  );

/** The command's own code, and what chooses the deployment before a console starts. */
const isOfTerminal = (file: string): boolean =>
  /^lib\/desk\/cli\/|\/desk\/commands\.ts$|^lib\/stage\/(local-)?target\.ts$/.test(file);

/** What the console runs, and the functions, whose texts letters and records have. */
const sources = (): string[] => {
  const found = new Set<string>();
  const visit = (file: string): void => {
    if (found.has(file) || isOfTerminal(file)) return;
    found.add(file);
    for (const each of importsOf(file)) visit(each);
  };
  visit('lib/desk/console/console.ts');
  for (const name of readdirSync(join(root, 'functions'))) visit(`functions/${name}`);
  return [...found].sort();
};

type Node = {
  type?: string;
  value?: unknown;
  quasis?: { value: { cooked: string } }[];
  callee?: { name?: string };
  arguments?: unknown[];
};

/** The text of a literal; of a template, with `…` for each value. */
const textOf = ({ type, value, quasis }: Node): string | undefined => {
  if (type === 'TemplateLiteral') return quasis?.map((each) => each.value.cooked).join('…');
  return type === 'Literal' && typeof value === 'string' ? value : undefined;
};

/** The texts of a file, without messages of errors that have another text for a browser. */
const textsIn = (file: string): string[] => {
  const texts: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const text = textOf(node as Node);
    if (text !== undefined) texts.push(text);
    const { type, callee, arguments: given = [] } = node as Node;
    const hasOther =
      type === 'NewExpression' &&
      /^(Refused|Usage)Error$/.test(callee?.name ?? '') &&
      JSON.stringify(given[1] ?? '').includes('"inBrowser"');
    for (const each of hasOther ? given.slice(1) : Object.values(node)) visit(each);
  };
  visit(parseSync(file, read(file)).program);
  return texts;
};

const [option, command] = [/(?<![\w-])--[a-z]/, /`sis-relay /];
/** A command to type, or its last words: of these, a view shows none in a browser. */
const isTyped = (text: string): boolean =>
  /^(?:letters|waiting|trace|crosswalk|snapshots|reconcile|npx sis-relay) /.test(text) ||
  /^\s*(?:--[a-z-]+(?:[ =](?:"[^"]*"|\S+))?\s*)+$/.test(text);

const files = sources();

test('what the console runs is found', () => {
  expect(files).toContain('lib/desk/messages/publish/rows.ts');
  expect(files).toContain('lib/options/snapshots/desk/screens.ts');
  expect(files).toContain('lib/crosswalk/unknown-id.ts');
});

test('an option of the command is named only where a browser has another text', () => {
  const isShown = (text: string): boolean => (option.test(text) && !isTyped(text)) || command.test(text);
  const shown = files.flatMap((file) =>
    textsIn(file)
      .filter((text) => isShown(withoutCommands(text)))
      .map((text) => `${file}: ${text}`),
  );
  expect(shown).toEqual([]);
});
