import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/user-attributes-update.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration);
const attributesOf = async (userId: number) =>
  (await relay.rows('userAttributes')).find((row) => row.userId === userId);
const fields = () => relay.rows('demographicsFields');
const platformCreatesFields = async () => {
  const body = JSON.stringify({ demographicsFields: 'create' });
  await fetch(`${relay.description().platform}/_local/settings`, { method: 'POST', body });
};
const pronouns = { attributeId: 'pronouns', value: ['they', 'them'] };
const campus = { attributeId: 'campus', value: ['North'] };
const update = { userId: 301, attributes: [pronouns, campus] };
const text = '6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e01';
const creation = { field: { name: 'Cohort', description: 'The year of entry', dataTypeId: text } };

describe('the attributes of a user', () => {
  test.each([
    ['one', [campus]],
    ['several, of several values or none', [pronouns, { attributeId: 'clubs', value: [] }]],
    ['none', []],
  ])('are those of the message, in the place of all that there were: %s', async (_, attributes) => {
    await relay.isDone({ userId: 301, attributes }, ['PUT 200']);
    expect(await attributesOf(301)).toEqual({ userId: 301, attributes, writes: 1 });
  });

  test('may not be told by the letter of a refusal', async () => {
    const body = { Errors: [{ Message: 'The attribute campus is unknown' }] };
    await relay.controls().fault({ status: 400, body });
    const failure = parked(await relay.deliver(update));
    expect(failure).toMatchObject({ kind: 'rejected', detail: 'The attribute campus is unknown' });
    expect(JSON.stringify(failure)).not.toMatch(/they|North/);
  });

  test('say nothing about a field that an older message creates', async () => {
    await platformCreatesFields();
    const older = relay.event(creation);
    await relay.deliver(update);
    await relay.isDone(older, ['POST 200']);
  });
});

describe('a demographics field', () => {
  test('is created', async () => {
    await platformCreatesFields();
    await relay.isDone(creation, ['POST 200']);
    expect(await fields()).toEqual([{ fieldId: expect.any(Number), ...creation.field }]);
  });
});

describe('what is neither is parked, and nothing is sent', () => {
  const either = /data: must have either userId and attributes, or field/;
  test.each<[string, object, RegExp]>([
    ['nothing', {}, either],
    ['both', { ...update, ...creation }, either],
    ['a user without attributes', { userId: 301 }, either],
    ['attributes without a user', { attributes: [] }, either],
    [
      'an attribute twice',
      { userId: 301, attributes: [campus, campus] },
      /data\.attributes: must name each attribute once/,
    ],
  ])('%s', (_, data, says) => {
    expect(relay.problemOf(data)).toMatch(says);
  });
});
