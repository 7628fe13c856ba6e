import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LetterRecord } from '../../../../lib/delivery/letters/record.ts';
import { createSavedFilters, type SavedFilters } from '../../../../lib/desk/console/saved-filters.ts';
import { listingOf } from '../../../../lib/desk/messages/letters/list.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { appWith } from './attacker.ts';

type Letters = LetterRecord[];

const letters = Array.from({ length: 230 }, (_, at) => ({
  message: randomUUID(),
  function: at < 220 ? 'grade-push' : 'enrollment-create',
  kind: 'rejected',
  error: '404 Not Found',
  replays: 0,
  state: 'letter',
  atMs: at,
})) as unknown as Letters;
const ids = letters.map(({ message }) => message);

const targetWith = (queued: number) => {
  const Attributes = { ApproximateNumberOfMessages: String(queued) };
  const sqs = async () => ({ send: async () => ({ Attributes }) });
  return { who: 'a test', sqs, deadLetterQueueUrl: async () => 'http://127.0.0.1/0/dead-letters' };
};

type Screen = { address?: string; isRead?: boolean; queued?: number; filters?: SavedFilters };

/** The screen of letters for a browser that has signed in. */
const screen = (
  query: [string, string][],
  { address = '/letters', isRead = true, queued = 230, ...more }: Screen = {},
): Promise<string> => {
  const lists = {
    letters: {
      get: async () => ({ value: { ...listingOf(letters), queued: 230 }, atMs: 0 }),
      isThere: () => isRead,
    },
  };
  const desk = { lists, name: 'sis-relay-test', target: targetWith(queued), readOnly: false, ...more };
  return appWith(desk).get(`${address}?${new URLSearchParams(query)}`);
};

const valuesOf = (html: string, type: string, more: RegExp = /./): string[] =>
  [...html.matchAll(new RegExp(`<input type="${type}" name="selected" value="([^"]+)"[^>]*>`, 'g'))].flatMap(
    ([tag, value = '']) => (more.test(tag) ? [value] : []),
  );

test('ticks survive turning the page: each page sends those of the others, as far as they are still there', async () => {
  const [here = '', there = '', elsewhere = ''] = [ids[130], ids[3], ids[225]];
  const html = await screen([
    ['function', 'grade-push'],
    ['page', '2'],
    ...[here, there, elsewhere, randomUUID()].map((id): [string, string] => ['selected', id]),
  ]);
  expect(valuesOf(html, 'checkbox')).toHaveLength(100);
  expect(valuesOf(html, 'checkbox', / checked/)).toEqual([here]);
  expect(valuesOf(html, 'hidden')).toEqual([there]);
  expect(html).toContain('(1 on other pages)');
  // A page is turned by the form that has the ticks.
  expect(html).toMatch(
    /<button formaction="\/letters" formnovalidate name="page" value="3">Next<\/button>.*<\/form>/s,
  );
});

test('nothing is preset beside what discards, and each button has a place for the number that it touches', async () => {
  const html = await screen([]);
  expect(html).toMatch(/name="of" value="matching" data-number="230" required>/);
  expect(html).not.toMatch(/name="of"[^>]*checked/);
  expect(html.match(/formaction="\/(replay|edit|discard|export)"[^>]*>\w+ <span data-chosen>/g)).toHaveLength(
    4,
  );
});

test.each([
  ['/replay', 'Make the plan for 2 letters'],
  ['/discard', 'Discard 2 letters'],
  ['/export', 'Export 2 letters'],
])('%s says how many letters it is for', async (address, button) => {
  const chosen = ids.slice(0, 2).map((id): [string, string] => ['selected', id]);
  const html = await screen([['of', 'selected'], ...chosen], { address });
  expect(html).toMatch(new RegExp(`<button[^>]*>${button}</button>`));
});

test('very many letters that are not read yet leave the screen to come at once, and the list to follow', async () => {
  const filter: [string, string][] = [
    ['function', 'grade-push'],
    ['sort', 'kind'],
  ];
  const html = await screen(filter, { isRead: false, queued: 100_000 });
  const to = '/letters?function=grade-push&amp;sort=kind&amp;whole=yes';
  expect(html).toContain(`<p data-load="${to}"><a href="${to}">About 100,000 letters are being read</a></p>`);
  const whole = await screen([...filter, ['whole', 'yes']], { isRead: false, queued: 100_000 });
  expect(whole).toMatch(/<div id="part">.*220 of 230 letters/s);
  expect(whole).not.toContain('whole');
  for (const given of [{ queued: 100_000 }, { isRead: false }])
    expect(await screen(filter, given)).toContain('220 of 230 letters');
});

test('a filter that is named is kept on this machine, for this deployment, in a file of its owner alone', async () => {
  const file = join(temporaryFolder(), 'sis-relay', 'filters.json');
  const filters = createSavedFilters(file, 'sis-relay-test');
  const address = '/letters?kind=rejected';
  await filters.keep('Monday', address);
  expect(statSync(file).mode & 0o077).toBe(0);
  const page = await screen([['kind', 'rejected']], { filters });
  expect(page).toContain('<a href="/letters?kind=rejected" aria-current="page">Monday</a>');
  // What is kept already is not offered again; another filter is.
  expect(page).not.toContain('Keep this filter');
  expect(await screen([['function', 'grade-push']], { filters })).toContain('Keep this filter');
  expect(await createSavedFilters(file, 'sis-relay-other').all()).toEqual([]);
  await filters.drop('Monday');
  expect(await filters.all()).toEqual([]);
});
