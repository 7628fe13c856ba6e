import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { DeadLetter } from '../../../lib/delivery/letters/dead-letter.ts';
import { createScreen } from './screen.ts';

const path = '/svc/api/le/1.82/2001/dropbox/folders/7001/submissions/mysubmissions/';
const made = { messageId: 'm', function: 'profile-image-update', outcome: 'waiting', waitSeconds: 1800 };
const title = 'a submission of somebody without a credential, or two';
const failure = {
  kind: 'missing-permission',
  message: `The platform answered POST ${path} with 403 Forbidden`,
  status: 403,
  type: 'forbidden',
  title: 'Forbidden',
  detail: 'not authorized for it '.repeat(20),
  required: 'SubmitToDropbox',
  remedy: 'Give the role the permission. '.repeat(9),
  function: 'submission-upload',
  attempts: 12,
  firstAt: '',
  lastAt: '',
};
const letter = { failure } as DeadLetter;

/** What is shown on a terminal of so many columns, or elsewhere. */
function shownOn(columns?: number): string {
  const terminal = columns === undefined ? {} : { isTTY: true, columns };
  const stream = Object.assign(new PassThrough(), terminal);
  const screen = createScreen(title.length, { stream: stream as unknown as NodeJS.WriteStream });
  screen.say('A word of explanation, which is long enough for several lines. '.repeat(4));
  for (const outcome of ['done', 'waiting', 'superseded', 'parked'])
    screen.attempt(
      { ...made, outcome, kind: 'missing-credential', operation: `POST ${path}`, status: 503 },
      title,
    );
  screen.attempt({ ...made, operation: `GET ${path}` }, title);
  screen.attempt({ ...made, kind: 'unavailable', operation: `PUT ${path}`, status: 200 }, title);
  screen.letter(letter, title);
  screen.letter({ ...letter, failure: null }, title);
  screen.table();
  screen.verdict(false, '24 of 25 scenarios ended as they must. '.repeat(4));
  return String(stream.read());
}

test.each([80, 100, 120, 200])('on a terminal of %i columns, every line fits, and has colours', (columns) => {
  const shown = shownOn(columns);
  const lines = stripVTControlCharacters(shown).split('\n');
  expect(lines.filter((line) => line.length > columns)).toEqual([]);
  expect(shown).not.toBe(stripVTControlCharacters(shown));
});

test('elsewhere each attempt and each fact of a letter is one plain line, uncut', () => {
  const shown = shownOn();
  expect(shown).toBe(stripVTControlCharacters(shown));
  expect(shown).toMatch(new RegExp(`parked +${title} .*POST ${path} → 503$`, 'm'));
  expect(shown).toMatch(new RegExp(`GET ${path} → no usable answer$`, 'm'));
  expect(shown).toMatch(new RegExp(`PUT ${path} → 200, no usable answer$`, 'm'));
  expect(shown).toMatch(/^ {2}what to do .*(Give the role the permission\. ?){9}$/m);
});

test('of a path that does not fit, the end is shown', () => {
  expect(stripVTControlCharacters(shownOn(100))).toMatch(/POST …\/.*mysubmissions\/ → 503$/m);
});
