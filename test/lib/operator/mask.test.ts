import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columnsOf } from '../../../lib/operator/columns.ts';
import { loadIntegrations } from '../../../lib/operator/integrations.ts';
import { maskedBody, maskedText } from '../../../lib/operator/mask.ts';
import { eventBody } from './office.ts';

describe('a message without what is personal', () => {
  test('keeps its shape, its ids and what tells shapes apart', () => {
    const body = eventBody(
      'grade-push',
      { grade: { type: 'numeric', points: 0 }, comments: 'Dear Jane', privateComments: null },
      { id: 'event-1', subject: 'grades of Jane' },
    );
    expect(maskedBody(body)).toEqual({
      specversion: '1.0',
      id: 'event-1',
      source: '/sis/test',
      type: 'sis.grade-push.v1',
      time: '2026-03-01T09:00:00Z',
      subject: '•••',
      data: {
        orgUnitId: 2001,
        gradeObjectId: 5001,
        userId: 301,
        grade: { type: 'numeric', points: '•••' },
        comments: '•••',
        privateComments: null,
      },
    });
  });

  test.each([
    [
      'files and their names',
      { files: [{ uri: 's3://b/jane.pdf', name: 'Jane.pdf', contentType: 'application/pdf' }] },
      { files: [{ uri: '•••', name: '•••', contentType: 'application/pdf' }] },
    ],
    [
      'a passed exam',
      { grade: { type: 'pass-fail', pass: false } },
      { grade: { type: 'pass-fail', pass: '•••' } },
    ],
    [
      'numbers that only look like ids',
      { nationalId: 1234567890, person: { id: 7 } },
      { nationalId: '•••', person: { id: '•••' } },
    ],
    [
      'names of fields that are no plain words',
      { 'Jane Doe': 1, 'Dear Wu': { pass: true }, campus_7: null },
      { '•••1': '•••', '•••2': { pass: '•••' }, campus_7: null },
    ],
    ['a name where an id should be', { userId: 'Jane Doe' }, { userId: '•••' }],
    ['a sentence where a type should be', { grade: { type: 'Jane got an A' } }, { grade: { type: '•••' } }],
  ])('hides %s', (_, data, shown) => {
    expect(maskedBody(JSON.stringify({ data }))).toEqual({ data: shown });
  });

  test('keeps every id that a function’s messages may have', async () => {
    const columns = [...(await loadIntegrations()).values()].flatMap((each) => [...columnsOf(each).keys()]);
    const names = columns.map((column) => column.split('.').at(-1) ?? '').filter((name) => /Id$/.test(name));
    expect(names).toContain('toParentId');
    const data = Object.fromEntries(names.map((name) => [name, 7]));
    expect(maskedBody(JSON.stringify({ data }))).toEqual({ data });
  });

  test.each(['Dear Jane', '"Dear Jane"', '["Jane"]', '7', ''])('of %s nothing can be shown', (body) => {
    expect(maskedBody(body)).toBeUndefined();
  });
});

test('the platform’s words name nobody in either spelling of an umlaut', () => {
  const body = JSON.stringify({ data: { comments: 'Dear J\u00fcrgen M\u00fcller' } });
  for (const form of ['NFC', 'NFD'])
    expect(maskedText('No Jürgen Müller here'.normalize(form), body)).toBe('No ••• ••• here');
  expect(maskedText('No J\u00fcrgen', body.normalize('NFD'))).toBe('No •••');
});

describe('the platform’s words', () => {
  const body = eventBody('grade-push', {
    grade: { type: 'numeric', points: 8.5 },
    comments: 'Dear Jane, well argued',
    privateComments: 'Wu is right',
  });

  test.each([
    ['Grade object 5001 not found', 'Grade object 5001 not found'],
    ['Value 8.5 of "dear jane, well argued" is too large', 'Value ••• of "••• •••, ••• •••" is too large'],
    [
      'Not authorized for [ orgUnitId: 2001, securityVariableName: X ]',
      'Not authorized for [ orgUnitId: 2001, securityVariableName: X ]',
    ],
    ['Grade is for Jane Wu by wu', 'Grade is for ••• ••• by wu'],
  ])('%s is shown as %s', (text, shown) => {
    expect(maskedText(text, body)).toBe(shown);
  });

  test('never repeat a word of the message that is hidden', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-zäöü]{4,12}$/), { minLength: 1, maxLength: 8 }),
        (words) => {
          const said = JSON.stringify({ data: { comments: words.join(' ') } });
          const shown = maskedText(`Refused: ${words.join(', ')} is not allowed`, said);
          const innocent = new Set(['refused', 'allowed']);
          for (const word of words) if (!innocent.has(word)) expect(shown.split(/\W+/)).not.toContain(word);
        },
      ),
    );
  });
});
