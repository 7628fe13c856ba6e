import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { LetterRecord } from '../../../../lib/delivery/letters/record.ts';
import { listingOf } from '../../../../lib/operate/messages/letters/list.ts';
import { createApp } from '../../../../lib/show/console/app.ts';
import type { Desk } from '../../../../lib/show/console/desk.ts';
import { createSession } from '../../../../lib/show/console/guard.ts';

type Letters = LetterRecord[];

const host = '0123456789abcdef.localhost:1';
const letters = Array.from({ length: 230 }, (_, at) => ({
  ...{ message: randomUUID(), function: at < 220 ? 'grade-push' : 'enrollment-create', kind: 'rejected' },
  ...{ error: '404 Not Found', replays: 0, state: 'letter', atMs: at },
})) as unknown as Letters;
const ids = letters.map(({ message }) => message);

/** The screen of letters for a browser that has signed in. */
const screen = async (query: [string, string][], address = '/letters'): Promise<string> => {
  const session = createSession();
  const lists = {
    letters: { get: async () => ({ value: { ...listingOf(letters), queued: 230 }, atMs: 0 }) },
  };
  const desk = {
    ...{ integrations: new Map(), session, lists, name: 'sis-relay-test', target: { who: 'a test' } },
    ...{ readOnly: false, signal: new AbortController().signal },
  };
  const app = createApp(desk as unknown as Desk, { host, sentence: String, onUse: () => {} });
  const headers = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
  const signedIn = await app.request(`http://${host}/session`, {
    ...{ method: 'POST', headers, body: new URLSearchParams({ token: session.token }) },
  });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const answer = await app.request(`http://${host}${address}?${new URLSearchParams(query)}`, {
    headers: { ...headers, cookie },
  });
  return answer.text();
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
  expect(html.match(/formaction="\/(replay|edit|discard|export)">\w+ <span data-chosen>/g)).toHaveLength(4);
});

test.each([
  ['/replay', 'Make the plan for 2 letters'],
  ['/discard', 'Plan to discard 2 letters'],
  ['/export', 'Export 2 letters'],
])('%s says how many letters it is for', async (address, button) => {
  const chosen = ids.slice(0, 2).map((id): [string, string] => ['selected', id]);
  expect(await screen([['of', 'selected'], ...chosen], address)).toContain(`<button>${button}</button>`);
});
