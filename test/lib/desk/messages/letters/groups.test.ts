import { describe, expect, test } from 'vitest';
import { groupLetters } from '../../../../../lib/desk/messages/letters/list.ts';
import { eventBody, never, officesForTests } from '../../cli/office.ts';

const offices = officesForTests();
const missingScope = {
  kind: 'missing-scope',
  status: 403,
  title: 'Not Authorized',
  required: 'grades:gradevalues:write',
  remedy: 'Grant the scope grades:gradevalues:write to the client registered for sis-relay, then replay.',
} as const;

test('letters are counted by function, kind and error, the most first, each group with its remedy', async () => {
  const office = await offices.open();
  await office.park([
    ...Array.from({ length: 4 }, () => ({ failure: missingScope })),
    ...Array.from({ length: 2 }, () => ({ function: 'enrollment-create', failure: {} })),
    { failure: {} },
  ]);
  const { groups, matching, listed, queued } = await groupLetters(office.target, {}, { signal: never });
  expect({ matching, listed, queued }).toEqual({ matching: 7, listed: 7, queued: 7 });
  expect(groups.map(({ function: name, kind, error, letters }) => [letters, name, kind, error])).toEqual([
    [4, 'grade-push', 'missing-scope', '403 Not Authorized (grades:gradevalues:write)'],
    [2, 'enrollment-create', 'rejected', '404 Not Found'],
    [1, 'grade-push', 'rejected', '404 Not Found'],
  ]);
  expect(groups[0]).toMatchObject({ grants: ['grades:gradevalues:write'], remedy: missingScope.remedy });
});

test('a remedy that names somebody is told of all of them, with the secrets that are missing', async () => {
  const office = await offices.open();
  const failure = (user: number) => ({
    kind: 'missing-credential' as const,
    message: `There is no secret sis-relay/users/${user}`,
    remedy: `Create the secret sis-relay/users/${user}, then replay.`,
  });
  const ids = await office.park([301, 302, 302].map((user) => ({ failure: failure(user) })));
  const { groups } = await groupLetters(office.target, {}, { signal: never });
  expect(groups).toMatchObject([
    { letters: 3, remedy: 'Create the secret sis-relay/users/<id>, then replay.' },
  ]);
  expect(groups[0]?.grants).toEqual(['sis-relay/users/301', 'sis-relay/users/302']);
  // The error has the ids that are the same in all of them.
  const filter = { id: ids.slice(1) };
  const same = await groupLetters(office.target, filter, { signal: never });
  expect(same.groups).toMatchObject([{ letters: 2, error: 'There is no secret sis-relay/users/302' }]);
  const call = (user: number) => `PUT /svc/api/le/1.82/2001/grades/5001/values/${user}`;
  const unanswered = [311, 312].map((user) => ({
    failure: { kind: 'crashed' as const, message: `${call(user)}: no connection`, operation: call(user) },
  }));
  await office.park(unanswered);
  const calls = await groupLetters(office.target, { kind: ['crashed'] }, { signal: never });
  expect(calls.groups).toMatchObject([
    { letters: 2, error: 'PUT /svc/api/le/1.82/2001/grades/5001/values/<id>: no connection' },
  ]);
});

test('a cause names the thing that all its letters are about, and counts what they differ in', async () => {
  const office = await offices.open();
  const about = (data: object) => ({ body: eventBody('grade-push', data), failure: {} });
  const groupsFor = async (...letters: object[]) => {
    const ids = await office.park(letters.map(about));
    const { groups } = await groupLetters(office.target, { id: ids }, { signal: never });
    return groups.map((group) => group.about);
  };
  expect(await groupsFor({ userId: 1 }, { userId: 2 }, { userId: 2 })).toEqual([
    'All in org unit 2001, grade object 5001; 2 users',
  ]);
  expect(await groupsFor({ gradeObjectId: 7 }, { gradeObjectId: 8 })).toEqual([
    'All in org unit 2001, user 301; 2 things',
  ]);
  const named = (userName: string) => ({
    userId: undefined,
    userName,
    orgUnitId: undefined,
    orgUnitCode: 'BIO-101',
  });
  expect(await groupsFor(named('ann'), named('bob'))).toEqual(['All about grade object 5001, BIO-101']);
  expect(await groupsFor({})).toEqual(['']);
});

test('a refused credential is one cause, by the secret that is to be changed, with or without an answer', async () => {
  const office = await offices.open();
  const failure = (secret: string, answer: object = {}) => ({
    kind: 'credentials' as const,
    message: `The platform refuses the credential in the secret ${secret}`,
    remedy: `Put a valid credential into the secret ${secret}.`,
    ...answer,
  });
  await office.park([
    { failure: failure('relay/service', { status: 403, title: 'Forbidden', detail: 'Invalid token' }) },
    { failure: failure('relay/service') },
    { failure: failure('relay/users/301') },
    { failure: failure('relay/users/302') },
    { failure: failure('relay/users/302') },
  ]);
  const { groups } = await groupLetters(office.target, {}, { signal: never });
  expect(groups).toMatchObject([
    {
      letters: 3,
      remedy: 'Put a valid credential into the secret relay/users/<id>.',
      grants: expect.arrayContaining(['relay/users/301', 'relay/users/302']),
    },
    {
      letters: 2,
      words: [],
      remedy: 'Put a valid credential into the secret relay/service.',
      error: 'The platform refuses the credential in the secret relay/service',
    },
  ]);
});

test('a title with words of the messages is one cause, told without them', async () => {
  const office = await offices.open();
  const failure = { title: 'The name Jane is not allowed' };
  const about = (comments: string) => ({ body: eventBody('grade-push', { comments }), failure });
  await office.park([about('Jane'), about('this is not Jane')]);
  const { groups } = await groupLetters(office.target, {}, { signal: never });
  expect(groups).toMatchObject([{ letters: 2, error: expect.not.stringMatching(/Jane/) }]);
});

test('letters replayed five times are called out, and the platform’s words come without personal ones', async () => {
  const office = await offices.open();
  const body = eventBody('grade-push', { comments: 'Dear Jane' });
  await office.park([4, 5, 6].map((replays) => ({ replays, body, failure: { detail: 'no Jane here' } })));
  const { groups } = await groupLetters(office.target, {}, { signal: never });
  expect(groups).toMatchObject([{ letters: 3, replayedOften: 2, words: ['no ••• here'] }]);
});

describe('a cause is what the platform says without what varies', () => {
  const causesOf = async (details: (string | { detail: string; comments: string })[]) => {
    const office = await offices.open();
    await office.park(
      details.map((each) =>
        typeof each === 'string'
          ? { failure: { detail: each } }
          : {
              body: eventBody('grade-push', { comments: each.comments }),
              failure: { detail: each.detail },
            },
      ),
    );
    const { groups } = await groupLetters(office.target, {}, { signal: never });
    return groups.map(({ letters, words }) => [letters, words[0]]);
  };
  const names = [
    'Anna',
    'Bela Roe',
    'Cleo',
    'Dora Poe',
    'Emil',
    'Finn',
    'Gina',
    'Hugo Doe',
    'Ida Woe',
    'Jan Noe',
  ];

  test('so one status may be several', async () => {
    expect(await causesOf(['User not found', 'Role not found', 'User not found'])).toEqual([
      [2, 'User not found'],
      [1, 'Role not found'],
    ]);
  });
  test('and ids, numbers and quoted words are none', async () => {
    const details = [7, 8].flatMap((id) => [`Unit ${id} is closed`, `Object "${id}x" is gone`]);
    expect((await causesOf(details)).map(([letters]) => letters)).toEqual([2, 2]);
  });
  test('but fields, sentences and codes in quotes are some', async () => {
    const details = [
      ["Field 'points' is required", "Field 'comments' is required"],
      ['"The grade is locked"', '"The user is inactive"'],
      ['ERR-1001: refused', 'ERR-2002: refused'],
      ['User not found', 'Course not found', 'Section not found', 'Role not found', 'Semester not found'],
    ];
    for (const each of details) expect(await causesOf(each)).toHaveLength(each.length);
  });
  test('nor are names, as many people have them in the same place', async () => {
    const causes = await causesOf([
      ...names.map((name) => `${name} is not enrolled here`),
      'The book is locked',
    ]);
    // Names of one word and of two.
    expect(causes.map(([letters]) => letters)).toEqual([5, 5, 1]);
  });
  test('nor words that are hidden because the message has them', async () => {
    const causes = await causesOf([
      { detail: 'The grade object does not exist', comments: 'well done' },
      { detail: 'The grade object does not exist', comments: 'a fine object' },
      { detail: 'The grade object does not exist', comments: 'this grade does not lie' },
    ]);
    expect(causes).toEqual([[3, expect.any(String)]]);
  });
  test('of different functions, kinds and statuses they stay apart', async () => {
    const office = await offices.open();
    const failure = { detail: 'User not found' };
    await office.park([
      { failure },
      { failure: { ...failure, status: 400 } },
      { failure: { ...failure, kind: 'missing-permission' } },
      { failure, function: 'enrollment-create' },
    ]);
    const { groups } = await groupLetters(office.target, {}, { signal: never });
    expect(groups).toHaveLength(4);
  });
});
