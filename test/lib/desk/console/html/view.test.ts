import { expect, test } from 'vitest';
import { shown } from '../../../../../lib/desk/console/html/view.ts';
import { badge, section, table, text, type View } from '../../../../../lib/desk/views/view.ts';

const htmlOf = (view: View, as?: 'console' | 'read-only' | 'page'): string =>
  String(shown(view, as && { as }));

test('commands to type are not shown: there are buttons and links instead', () => {
  const html = htmlOf([
    { lead: 'Next', command: 'letters list' },
    { tone: 'plain', text: 'See the state', command: 'status' },
    { more: 'The first 2 of 3' },
  ]);
  expect(html).not.toMatch(/sis-relay|letters list|--limit/);
  expect(html).toContain('See the state.');
  expect(html).toContain('The first 2 of 3.');
});

test('a console that changes nothing has no form that does, and a page by itself none, and no links', () => {
  const view: View = [
    { action: '/discard', fields: [{ reason: 'required' }], buttons: [{ text: 'Discard' }] },
    { action: '/replay', isHarmless: true, buttons: [{ text: 'Plan' }] },
    text({ text: 'letters', to: '/letters' }),
    { links: [{ text: 'More', to: '/more' }] },
  ];
  const actionsIn = (html: string) => [...html.matchAll(/(?:action|href)="([^"]*)"/g)].map(([, to]) => to);
  expect(actionsIn(htmlOf(view))).toEqual(['/discard', '/replay', '/letters', '/more']);
  expect(actionsIn(htmlOf(view, 'read-only'))).toEqual(['/replay', '/letters', '/more']);
  expect(actionsIn(htmlOf(view, 'page'))).toEqual([]);
});

test('a row with something under it is an article that can be led to', () => {
  const html = htmlOf([
    table(
      'Causes',
      ['rejected'],
      { Letters: () => 2, Function: () => 'grade-push', Kind: (kind) => badge(kind, 'bad'), Tries: () => 7 },
      { idOf: () => 'cause-1', under: () => [{ tone: 'todo', text: 'Mend it' }] },
    ),
  ]).replaceAll(/\s+/g, ' ');
  expect(html).toMatch(/<article class="cause" id="cause-1"><h2>2 .*grade-push.*<bdi class="badge bad">/);
  expect(html).toMatch(/Tries<\/bdi>: 7<\/p>.*Mend it/);
});

test('what is first can have the focus, and a small screen leaves out what is nothing', () => {
  const all = { Waits: () => 0, Oldest: () => ({ sinceMs: undefined }), Name: () => 'a' };
  const html = htmlOf([{ title: 'First', isFirst: true, part: [table('Queues', [1], all)] }]);
  expect(html).toContain('<section class="first" tabindex="-1">');
  expect([...html.matchAll(/data-title="(\w+)" data-nothing/g)].map(([, title]) => title)).toEqual([
    'Waits',
    'Oldest',
  ]);
});

test('whatever a text says, it is a text', () => {
  const evil = '"><script>alert(1)</script>\u202E';
  const html = htmlOf([
    { heading: evil },
    section(evil, { tone: 'bad', text: evil }, { tone: 'quiet', text: evil }),
    text(evil, { text: evil, to: evil, code: true }),
    { quote: evil },
    { facts: [[evil, evil]] },
    table(evil, [evil], { Evil: (each) => each }, { titles: { Evil: { text: evil } } }),
    table(evil, [evil], { Evil: (each) => badge(each, 'bad') }, { idOf: () => evil, under: () => [] }),
    { document: evil, label: evil },
    { action: evil, hidden: { [evil]: evil }, fields: [{ reason: 'optional', value: evil }], buttons: [] },
    { links: [{ text: evil, to: evil }] },
    { charts: [{ title: evil, labels: [evil], series: [{ name: evil, tone: evil, values: [1] }] }] },
    { more: evil },
  ]);
  expect(html).not.toMatch(/<script|="[^"]*"[^ />]/);
  expect(html).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
});
