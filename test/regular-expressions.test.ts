import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';
import { analyse } from 'scslre';
import { describe, expect, test } from 'vitest';
import { withoutFields } from '../lib/runtime/privacy/letter-body.ts';

const root = resolve(import.meta.dirname, '..');
const sources = ['lib', 'functions'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[tj]s$/.test(name))
    .map((name) => join(folder, name).replaceAll('\\', '/')),
);

type Node = { regex?: { pattern: string; flags: string }; callee?: { name?: string } };

/** The regular expressions that a file spells out, and how often it makes one of text. */
const expressionsIn = (file: string): { spelled: RegExp[]; made: number } => {
  const found = { spelled: [] as RegExp[], made: 0 };
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || value instanceof RegExp) return;
    const { regex, callee } = value as Node;
    if (regex) found.spelled.push(new RegExp(regex.pattern, regex.flags));
    if (callee?.name === 'RegExp') found.made += 1;
    for (const each of Object.values(value)) visit(each);
  };
  visit(parseSync(file, readFileSync(join(root, file), 'utf8')).program);
  return found;
};

/** Those whose time grows faster than the text that they are given. */
const slowIn = (expressions: readonly RegExp[]): string[] =>
  expressions
    .filter(({ source, flags }) => analyse({ source, flags }).reports.length > 0)
    .map((each) => String(each));

/** Every regular expression that is made of text meanwhile. */
const madeBy = async (work: () => unknown): Promise<RegExp[]> => {
  const made: RegExp[] = [];
  const own = globalThis.RegExp;
  const make = (_: unknown, [pattern, flags]: [RegExp | string, string?]): RegExp => {
    made.push(new own(pattern, flags));
    return new own(pattern, flags);
  };
  globalThis.RegExp = new Proxy<RegExpConstructor>(own, {
    construct: make,
    // Libraries call it without `new`.
    apply: (of, _, given: [RegExp | string, string?]) => make(of, given),
  });
  try {
    await work();
  } finally {
    globalThis.RegExp = own;
  }
  return made;
};

/** As a file makes them when it is loaded: not the copy that other tests have loaded already. */
const anew = (file: string) => () => import(/* @vite-ignore */ `../${file}?anew`);

describe('a regular expression takes time in proportion to its text', () => {
  const all = sources.map((file) => ({ file, ...expressionsIn(file) }));

  test.each([
    ['one that begins anew at each character', /[^.]+$/],
    ['one whose parts take the same characters', /^(\d+\.?\d*|\.\d+)$/],
    ['one that is exponential', /^(a+)*b$/],
  ])('which %s does not', (_, expression) => {
    expect(slowIn([expression])).toEqual([String(expression)]);
  });

  test('as all do that are spelled out', () => {
    expect(all.flatMap(({ spelled }) => spelled).length).toBeGreaterThan(300);
    expect(
      all.flatMap(({ file, spelled }) => slowIn(spelled).map((expression) => `${file}: ${expression}`)),
    ).toEqual([]);
  });

  const makers: Record<string, () => unknown> = {
    'lib/runtime/privacy/secrets.ts': anew('lib/runtime/privacy/secrets.ts'),
    'lib/runtime/privacy/letter-body.ts': () => withoutFields('no JSON', ['key', 'plainSecret']),
    'lib/delivery/handle/fields/grade-object.ts': anew('lib/delivery/handle/fields/grade-object.ts'),
    'lib/delivery/mapping/times.ts': anew('lib/delivery/mapping/times.ts'),
    'lib/platform/client/request.ts': anew('lib/platform/client/request.ts'),
    'lib/options/snapshots/feed.ts': anew('lib/options/snapshots/feed.ts'),
  };
  test('as all do that are made of text', async () => {
    expect(all.flatMap(({ file, made }) => (made > 0 ? [file] : [])).sort()).toEqual(
      Object.keys(makers).sort(),
    );
    for (const make of Object.values(makers)) {
      const made = await madeBy(make);
      expect(made.length).toBeGreaterThan(0);
      expect(slowIn(made)).toEqual([]);
    }
  });

  /** `analyse` does not see all, such as `(a|a)*b`. */
  test('as what they are given is repeated', { tags: ['long'] }, async () => {
    const made: RegExp[] = [];
    // One after the other: each puts something in the place of what all share.
    for (const make of Object.values(makers)) made.push(...(await madeBy(make)));
    const each = [...all.flatMap(({ spelled }) => spelled), ...made];
    const slow = [/^(a|a)*b$/, /^\d+\d+$/, /required:\s*([\w.:*-]+)(?=[^\w.:*…-])/];
    expect(pumpedSlowly(slow)).toEqual(slow.map(String));
    expect(pumpedSlowly(each)).toEqual([]);
  });
});

/**
 * V8 no longer optimizes expressions once a process has compiled many of them, as the console and tests do. Then it finds only the last of
 * the words in `(?i:one|two)` (Node 24.21), so a secret beside such a word would be shown.
 */
test('no regular expression has inline flags', () => {
  const inline = /\(\?[a-z]*-?[a-z]+:/;
  expect(inline.test('(?i:a)') && inline.test('(?-i:a)') && !inline.test('(?:a)')).toBe(true);
  const found = sources.flatMap((file) =>
    expressionsIn(file).spelled.flatMap(({ source }) => (inline.test(source) ? `${file}: ${source}` : [])),
  );
  expect(found).toEqual([]);
});

/** Each of these, and each pair of them, is repeated; with the characters that an expression itself spells out. */
const signs = [...' \t\na1.-_"\'‹›“”%\\<>&=/:,{}[]()#?@*é', 'at ', '&amp;', '%25', 'key'];

/** What an expression spells out in one piece, such as `required:`: it may begin anew at each. */
const wordsIn = ({ source }: RegExp): string[] =>
  [...new Set(source.replaceAll(/\\[a-z]/gi, '\\').match(/[\p{L}\p{N}_ :="<&;-]{3,}/gu))].slice(0, 12);

/** Those that take more than twice as much longer as their text is longer, or very long for a short one. */
const pumpedSlowly = (expressions: readonly RegExp[]): string[] =>
  expressions.flatMap((expression) => {
    const own = [...new Set(expression.source.match(/[\p{L}\p{N}]/gu))].slice(0, 12);
    const all = [...new Set([...signs, ...own])];
    const withEach = (word: string): string[] => all.flatMap((sign) => [word + sign, sign + word]);
    const words = wordsIn(expression);
    const texts = [
      ...all.flatMap((one) => [one, ...all.map((other) => one + other)]),
      ...words.flatMap((word) => [word, ...withEach(word)]),
    ];
    // Twice, as a busy machine makes one look slow by chance.
    const isSlowTwice = (text: string) =>
      ends.some((end) => isSlow(expression, text, end) && isSlow(expression, text, end));
    return texts.some(isSlowTwice) ? [String(expression)] : [];
  });

/** What an expression wants at its end may be this sign, or anything but the end of the text. */
const ends = ['\u0001', ''];

const isSlow = (expression: RegExp, text: string, end: string): boolean => {
  const pumped = (length: number): string => text.repeat(Math.max(1, length / text.length)) + end;
  // The exponential ones first, which would never end with more.
  if (computedMs(expression, pumped(24)) > 50) return true;
  const [few, many] = [4_000, 16_000];
  if (computedMs(expression, pumped(many)) < 5) return false;
  const least = (length: number): number =>
    Math.min(...Array.from({ length: 3 }, () => computedMs(expression, pumped(length))));
  return least(many) > 5 && least(many) > 2 * (many / few) * least(few);
};

const computedMs = (expression: RegExp, text: string): number => {
  expression.lastIndex = 0;
  const before = process.threadCpuUsage();
  text.replace(expression, '');
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};
