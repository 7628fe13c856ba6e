import { beforeAll, expect, test } from 'vitest';
import type { RevealedLetter } from '../../../../../lib/desk/messages/verify/compare.ts';
import { maxRevealed } from '../../../../../lib/desk/views/verify.ts';
import { localOffice } from '../../cli/local-office.ts';
import { documentIn, typed } from '../../cli/typed.ts';
import { openConsole } from '../../console/attacker.ts';

const office = localOffice({ inProcess: ['grade-push', 'enrollment-create', 'user-attributes-update'] });

const [other, same, none] = [501, 502, 503];
const course = { orgUnitId: 2001 };
const graded = {
  ...course,
  gradeObjectId: 5001,
  gradeObjectType: 1,
  comments: { content: 'Good', type: 'Text' },
};
const data = { ...course, gradeObjectId: 5001, grade: { type: 'numeric', points: 8.5 }, comments: 'Good' };
const longAgo = new Date(Date.now() - 60 * 86_400_000).toISOString();
const changedAt = new Date(Date.now() - 86_400_000).toISOString();

beforeAll(async () => {
  await office.enrol([other, same, none]);
  await office.controls().seed({
    gradeValues: [
      { ...graded, userId: other, pointsNumerator: 6, lastModified: changedAt },
      { ...graded, userId: same, pointsNumerator: 8.5 },
    ],
  });
  const event = { time: longAgo };
  const sent = [
    await office.send('grade-push', { ...data, userId: other }, event),
    await office.send('grade-push', { ...data, userId: same }, event),
    await office.send('enrollment-create', { ...course, userId: none, roleId: 109 }, event),
    await office.send('user-attributes-update', { userId: none, attributes: [] }, event),
  ];
  for (const id of sent) expect(await office.ended(id)).toBe('parked');
});

const verify = (options: string) =>
  typed(`letters verify --kind outdated --reveal --reason "a look" ${options} --stack ${office.file}`);

test('what an outdated message sets is shown beside what the platform shows', async () => {
  const { revealed } = documentIn<{ revealed: RevealedLetter[] }>((await verify('--json')).out);
  const comparisonOf = (name: string, userId: number) =>
    revealed.find(
      ({ function: of, message }) => of === name && JSON.stringify(message).includes(`"userId":${userId}`),
    )?.comparison;
  expect(comparisonOf('grade-push', other)).toEqual({
    fields: [
      {
        field: 'grade',
        sent: '{"GradeObjectType":1,"PointsNumerator":8.5}',
        shown: '{"GradeObjectType":1,"PointsNumerator":6}',
      },
      { field: 'comments', sent: 'Good', shown: 'Good' },
    ],
    sentAt: longAgo,
    changedAt,
  });
  expect(comparisonOf('grade-push', same)).toMatchObject({
    fields: [{ field: 'grade', shown: '{"GradeObjectType":1,"PointsNumerator":8.5}' }, { shown: 'Good' }],
  });
  expect(comparisonOf('enrollment-create', none)).toMatchObject({
    fields: [{ field: 'whole', sent: 'role 109', shown: 'role 110' }],
  });
  expect(comparisonOf('user-attributes-update', none)).toEqual({
    unknown: 'no call of the platform shows it',
  });
});

test('a terminal and a browser show both values, and say of what is the same that it can be discarded', async () => {
  const out = (await verify('')).out.replace(/\s+/g, ' ');
  expect(out).toMatch(/grade \S+8\.5\} \S+6\}/);
  expect(out).toContain(`The message is from ${longAgo}. The platform last changed this at ${changedAt}.`);
  expect(
    out.match(/The platform holds what this message sets, so the letter can be discarded/g),
  ).toHaveLength(1);
  expect(out).toContain('Not compared with the platform: no call of the platform shows it.');
  const ours = await openConsole(office.target());
  const { text } = await ours.post('/uncertain/reveal', { kind: 'outdated', reason: 'a look' });
  for (const each of [
    'PointsNumerator 8.5',
    'PointsNumerator 6',
    'role 109',
    'role 110',
    'newer there',
    'same',
  ])
    expect(text).toContain(each);
  const [, id = ''] = /name="id" value="([0-9a-f-]+)"/.exec(text) ?? [];
  expect((await ours.post(`/letters/${id}/reveal`, { reason: 'a call' })).text).toContain(
    'The message and the platform',
  );
  const shown = await typed(`letters show ${id} --reveal --reason "a call" --stack ${office.file}`);
  expect(shown.out).toMatch(/This message +The platform/);
  await ours.close();
});

test('the command that `letters groups` proposes for a cause shows its letters', async () => {
  const groups = await typed(`letters groups --function enrollment-create --stack ${office.file}`);
  const [, command = ''] =
    /what to compare with the platform: sis-relay (letters verify --cause [0-9a-f]{8} --reveal --reason "[^"]+")/.exec(
      groups.out.replace(/\s+/g, ' '),
    ) ?? [];
  const shown = await typed(`${command} --stack ${office.file}`);
  expect(shown.out).toMatch(/^enrollment-create, letter /m);
});

test('of many letters, the oldest are revealed, and a command exports all', async () => {
  const letters = Array.from({ length: maxRevealed }, (_, at) => 510 + at);
  for (const userId of letters)
    await office.ended(await office.send('grade-push', { ...data, userId }, { time: longAgo }));
  const { out } = await verify('--function grade-push');
  expect(out.match(/^grade-push, letter /gm)).toHaveLength(maxRevealed);
  expect(out.replace(/\s+/g, ' ')).toMatch(
    /And 2 more\. Decide on these, then look again; or export all of them: sis-relay letters export --function grade-push --kind outdated --to letters\.jsonl --reason <why>/,
  );
});
