import { describe, expect, test } from 'vitest';
import { integrationStage } from '../integration-stage.ts';
import { parts } from '../integrations.ts';
import { answers, halfAnswer } from './answers.ts';
import { expectEnds } from './ends.ts';

/** Every integration × whatever may come for an answer to each of its calls. */
const stage = integrationStage();

/**
 * One of each kind of failure, and what an integration may take for its success. What other answers are to each operation,
 * `operations.test.ts` proves.
 */
const typical = [
  ...['200 with a page', '200 with JSON of another shape', 'half an answer'],
  ...['404 that says what is not there', '500 with a problem', '429', '403 that names a scope'],
];
const all = [...answers, halfAnswer];

describe.each([
  { by: all.filter(({ title }) => typical.includes(title)), named: 'typical', tags: [] },
  { by: all.filter(({ title }) => !typical.includes(title)), named: 'all other', tags: ['long'] },
])('$named answers', ({ by, tags }) => {
  test.each(parts)('to each call of $title', { tags }, async (part) => {
    const { requests, state: whole } = await stage.deliver(part);
    const called = stage.calledIn(part, requests);
    expect(called).not.toEqual([]);
    for (const operation of called) await expectEnds(stage, part, { operation, by, whole });
  });
});
