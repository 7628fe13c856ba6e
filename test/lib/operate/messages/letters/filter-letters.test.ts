import { describe, expect, test } from 'vitest';
import { lettersMatching } from '../../../../../lib/operate/messages/letters/filter-letters.ts';
import { groupsOf } from '../../../../../lib/operate/messages/letters/groups.ts';
import { groupLetters, listLetters } from '../../../../../lib/operate/messages/letters/list.ts';
import { findLetters } from '../../../../../lib/operate/messages/letters/records.ts';
import { never, officesForTests } from '../../../show/cli/office.ts';

const offices = officesForTests();
const names = ['Anna', 'Bela', 'Cleo', 'Dora', 'Emil', 'Finn'];
const saying = (detail: string, more: object = {}) => ({ failure: { detail }, ...more });

/** An office with these letters, and the letters as a console keeps them in memory. */
const kept = async (letters: Parameters<Awaited<ReturnType<typeof offices.open>>['park']>[0]) => {
  const office = await offices.open();
  const ids = await office.park(letters);
  const { letters: all } = await findLetters(office.target, {}, never);
  return { office, ids, all };
};

describe('letters of one cause', () => {
  test('are those of its group and no others, in memory as from the table', async () => {
    const { office, ids, all } = await kept([
      ...[saying('User not found'), saying('Role not found'), saying('User not found')],
      saying('User not found', { function: 'enrollment-create' }),
    ]);
    const { groups } = await groupLetters(office.target, {}, { signal: never });
    const [{ cause } = { cause: '' }] = groups;
    expect(groups.map((each) => each.cause)).toEqual([
      ...Array.from({ length: 3 }, () => expect.stringMatching(/^[0-9a-f]{8}$/)),
    ]);
    expect(new Set(groups.map((each) => each.cause)).size).toBe(3);
    const wanted = [ids[0], ids[2]].toSorted();
    expect(
      lettersMatching(all, { cause })
        .map(({ message }) => message)
        .toSorted(),
    ).toEqual(wanted);
    const { letters, matching } = await listLetters(
      office.target,
      { filter: { cause }, limit: 9 },
      { signal: never },
    );
    expect([letters.map(({ id }) => id).toSorted(), matching]).toEqual([wanted, 2]);
    expect(lettersMatching(all, { cause: '00000000' })).toEqual([]);
  });

  test('stay so where another condition leaves too few of them to tell it', async () => {
    const { office, ids, all } = await kept(names.map((name) => saying(`${name} is not enrolled here`)));
    const filter = { id: ids.slice(0, 2) };
    const { groups } = await groupLetters(office.target, filter, { signal: never });
    expect(groups).toMatchObject([{ letters: 2 }]);
    const [{ cause } = { cause: '' }] = groups;
    expect(groupsOf(all).groups).toMatchObject([{ cause, letters: 6 }]);
    const found = await findLetters(office.target, { ...filter, cause }, never);
    expect(found.letters.map(({ message }) => message).toSorted()).toEqual(filter.id.toSorted());
    expect(found.listed).toBeUndefined();
    expect(groupsOf(found.letters, found.among).groups).toMatchObject([{ cause, letters: 2 }]);
    const ofOthers = await findLetters(office.target, { cause, function: ['enrollment-create'] }, never);
    expect(ofOthers.letters).toEqual([]);
  });

  test('that are too many causes to be listed are of one, too', async () => {
    const { office } = await kept(
      Array.from({ length: 205 }, (_, at) => ({ failure: { title: `Error${' a'.repeat(at)}` } })),
    );
    const { groups } = await groupLetters(office.target, {}, { signal: never });
    const others = groups.find(({ error }) => error === 'other errors');
    expect(others).toMatchObject({ cause: expect.stringMatching(/^[0-9a-f]{8}$/), letters: 5 });
    const asked = await groupLetters(office.target, { cause: others?.cause ?? '' }, { signal: never });
    expect(asked).toMatchObject({ matching: 5, groups: [{ ...others }] });
  });

  test('come in the same order, however they are kept', async () => {
    const { all } = await kept(names.map((name) => saying(`${name} is not enrolled here`)));
    expect(lettersMatching(all.toReversed(), {})).toEqual(all);
    const { cause } = groupsOf(all).groups[0] ?? { cause: '' };
    expect(lettersMatching(all.toReversed(), { cause })).toEqual(all);
  });
});
