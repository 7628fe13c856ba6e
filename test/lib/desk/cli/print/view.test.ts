import { expect, test } from 'vitest';
import { linesOf } from '../../../../../lib/desk/cli/print/view.ts';
import { badge, part, section, table, text, type View } from '../../../../../lib/desk/views/view.ts';
import { quietTerminal } from '../typed.ts';

const narrow = {
  ...quietTerminal,
  width: 40,
  style: (format: unknown, said: string) => `<${format}>${said}</>`,
  command: (words: string) => `sis-relay ${words} --local`,
};
const shown = (...view: View) => linesOf(view, narrow);

test('notes have the colour of their tone; what is to be done has an arrow, and not the colour of what is done', () => {
  expect(
    shown(
      { tone: 'bad', text: 'Broken' },
      { tone: 'todo', text: 'Mend it' },
      { tone: 'good', text: 'Mended' },
      { tone: 'plain', text: 'So' },
    ),
  ).toEqual(['<red>✗ Broken</>', '<cyan>→ Mend it</>', '<green>✓ Mended</>', 'So']);
});

test('commands are printed as they are typed: in one line, or at the end of their sentence', () => {
  expect(
    shown(
      { lead: 'Next', command: 'letters list --kind rejected --function grade-push' },
      { tone: 'plain', text: 'See', command: 'status' },
    ),
  ).toEqual([
    '<dim>Next: sis-relay letters list --kind rejected --function grade-push --local</>',
    'See: sis-relay status --local',
  ]);
});

test('a command that does not fit behind its sentence has a line of its own, and is not wrapped', () => {
  const sentence = 'Two letters were replayed five times or more';
  expect(
    shown({ tone: 'bad', text: sentence, command: 'letters list --min-replays 5 --kind rejected' }),
  ).toEqual([
    '<red>✗ Two letters were replayed five times</>',
    '<red>  or more:</>',
    '<red>  sis-relay letters list --min-replays 5 --kind rejected --local</>',
  ]);
});

test('what is to be done about an event has its commands as they are typed here; the words of others stay', () => {
  const moment = {
    at: '2026-01-31T09:30:00Z',
    text: 'waits',
    tone: 'plain',
    line: 'waits: `status`',
  } as const;
  const [printed] = linesOf([{ timeline: [{ ...moment, remedy: 'See `sis-relay status`.' }] }], {
    ...narrow,
    width: 100,
  });
  expect(printed).toContain('waits: `status`. → See `sis-relay status --local`.');
});

test('a command that a sentence names is one that can be typed here, and is not wrapped', () => {
  expect(
    shown(
      {
        tone: 'todo',
        text: 'Accept it (`sis-relay crosswalk accept <code>`), see `status`, leave `this` and `sis-relay`.',
      },
      {
        facts: [
          ['What to do', { text: 'See `letters groups`', tone: 'todo' }],
          ['In its words', '`letters groups`'],
        ],
      },
    ),
  ).toEqual([
    '<cyan>→ Accept it</>',
    '<cyan>  (`sis-relay crosswalk accept <code> --local`),</>',
    '<cyan>  see `sis-relay status --local`, leave</>',
    '<cyan>  `this` and `sis-relay`.</>',
    '<dim>What to do    </><cyan>See</>',
    '<dim>              </><cyan>`sis-relay letters groups --local`</>',
    '<dim>In its words  </>`letters groups`',
  ]);
});

test('parts are set apart by empty lines, and a part of nothing is not there', () => {
  expect(
    shown(
      text('one'),
      part(text('two')),
      section('Nothing', part()),
      section('Title', text('three')),
      text('four'),
    ),
  ).toEqual(['one', '', 'two', '', '<bold>Title</>', 'three', '', 'four']);
});

test('a table has the colours of its cells, no column for the console, and its widest column is cut', () => {
  const rows = [
    { letters: 1_204, kind: 'rejected', words: 'x'.repeat(50) },
    { letters: 0, kind: 'throttled', words: 'y' },
  ];
  const columns = {
    Tick: ({ kind }: { kind: string }) => ({ tick: kind }),
    Letters: ({ letters }: { letters: number }) => letters,
    Kind: ({ kind }: { kind: string }) => badge(kind, kind === 'rejected' ? 'bad' : 'plain'),
    'What failed': ({ words }: { words: string }) => words,
  };
  expect(shown(table('Letters', rows, columns))).toEqual([
    '<dim>Letters  Kind       What failed</>',
    `  1,204  <red>rejected</>   ${'x'.repeat(19)}…`,
    '      –  throttled  y',
  ]);
  expect(shown(table('Letters', [], columns, { empty: 'None.' }))).toEqual(['<dim>None.</>']);
});

test('a cell that is shown whole is wrapped under itself, so that two causes with the same beginning differ', () => {
  const causes = [
    'Not authorized for orgUnitId 2002, variable Grades',
    'Not authorized for orgUnitId 2002, variable Users',
  ];
  const columns = {
    Letters: () => 1,
    'What failed': (cause: string) => ({ text: cause, isWhole: true as const }),
  };
  expect(shown(table('Causes', causes, columns))).toEqual([
    '<dim>Letters  What failed</>',
    '      1  Not authorized for orgUnitId',
    '         2002, variable Grades',
    '      1  Not authorized for orgUnitId',
    '         2002, variable Users',
  ]);
});

test('what is under a row stands below the second column', () => {
  const under = (name: string): View => [{ quote: `${name} ${'word '.repeat(8)}`.trim() }];
  expect(
    shown(table('All', ['one', 'two'], { Name: (name) => name, Size: (name) => name.length }, { under })),
  ).toEqual([
    '<dim>Name  Size</>',
    'one      3',
    '      <dim>“one word word word word word word</>',
    '      <dim>  word word”</>',
    '',
    'two      3',
    '      <dim>“two word word word word word word</>',
    '      <dim>  word word”</>',
  ]);
});

test('facts are aligned, and break beside their labels', () => {
  expect(
    shown({
      facts: [
        ['Kind', badge('rejected', 'bad')],
        ['What to do', 'word '.repeat(8).trim()],
      ],
    }),
  ).toEqual([
    '<dim>Kind        </><red>rejected</>',
    '<dim>What to do  </>word word word word word',
    '<dim>            </>word word word',
  ]);
});

test('nothing from outside breaks a line or moves what is beside it', () => {
  const evil = 'a\n\u001B[31mb\u202Ec';
  const lines = shown(
    { heading: evil },
    { tone: 'plain', text: evil },
    text(evil, { text: evil }),
    { quote: evil },
    { facts: [['Evil', evil]] },
    table('Evil', [evil], { Evil: (each) => each }),
    { document: evil, label: 'Evil' },
  );
  expect(lines.filter((line) => line.includes('b c'))).toHaveLength(7);
  expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test('forms, links and drawings are the console’s', () => {
  expect(
    shown(
      { action: '/replay', buttons: [{ text: 'Plan' }] },
      { links: [{ text: 'Letters', to: '/letters' }] },
      { charts: [] },
    ),
  ).toEqual([]);
});
