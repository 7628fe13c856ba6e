// @module-tag long
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PublishOutcomes } from '../../../../../lib/desk/messages/publish/outcomes.ts';
import { localOffice } from '../../cli/local-office.ts';
import { eventBody } from '../../cli/office.ts';
import { documentIn, typed } from '../../cli/typed.ts';

const office = localOffice({ functions: ['grade-push'] });

const grade = (userId: number, more: object = {}) =>
  eventBody('grade-push', { userId, comments: '', privateComments: '', ...more });

test('publish --wait tells of each message what became of it', async () => {
  const controls = office.controls();
  const learners = [501, 502, 503, 504];
  await office.enrol(learners);
  await controls.fault({ status: 503 }, { method: 'PUT', path: 'values/503$', times: 1_000 });
  const done = grade(501);
  const publish = async (bodies: string[], options: string) => {
    const file = join(office.folder, 'messages.jsonl');
    writeFileSync(file, bodies.join('\n'));
    return typed(`publish ${file} ${options} --stack ${office.file}`);
  };
  const first = await publish([done], '--wait');
  expect(first.status).toBe(0);
  expect(first.out).toMatch(/\n1 done\.\n$/);

  const bodies = [
    done,
    grade(502),
    grade(502, { gradeObjectId: 5999 }),
    grade(503),
    // Its queue has no function here.
    eventBody('enrollment-create', { userId: 504, roleId: 110 }),
  ];
  const { status, out } = await publish(bodies, '--wait 6 --json');
  const { messages, outcomes } = documentIn<PublishOutcomes>(out);
  expect(outcomes).toEqual({ done: 1, duplicate: 1, superseded: 0, letter: 1, waiting: 1, unknown: 1 });
  expect(messages.sort((one, other) => one.line - other.line)).toMatchObject([
    { line: 1, function: 'grade-push', eventId: JSON.parse(done).id, outcome: 'duplicate' },
    { line: 2, outcome: 'done' },
    { line: 3, outcome: 'letter', kind: 'rejected', error: expect.stringMatching(/^404/) },
    { line: 4, outcome: 'waiting', kind: 'unavailable' },
    { line: 5, function: 'enrollment-create', outcome: 'unknown' },
  ]);
  expect(status).toBe(1);

  expect((await publish([done], '--wait')).out).toMatch(
    /\n1 message is the same each time .*\n1 duplicate\.\nDuplicate: this very message was done before/s,
  );

  const said = await publish([grade(502, { gradeObjectId: 5998 })], '--wait 20');
  expect(said.out).toMatch(
    /\n1 letter\.\nLine .*\n {3}1 {2}grade-push {2}[\w-]{36} {2}letter rejected {2}\w+\n +404 Resource Not Found: G/,
  );
  // What does not ask is not told of: a first success writes nothing.
  const { out: unasked } = await publish([grade(504)], '--json');
  expect(documentIn(unasked)).not.toHaveProperty('outcomes');
});

test('a table that is published again replaces what the SIS has corrected since', async () => {
  await office.enrol([505]);
  const file = join(office.folder, 'grades.csv');
  const header = 'orgUnitId,gradeObjectId,userId,grade.type,grade.points,comments,privateComments';
  writeFileSync(file, `${header}\n2001,5001,505,numeric,3,"",""\n`);
  const again = () => typed(`publish ${file} --function grade-push --wait 60 --stack ${office.file}`);
  const points = async () => {
    const { gradeValues = [] } = await office.controls().state('gradeValues');
    return gradeValues.find(({ userId }) => userId === 505)?.pointsNumerator;
  };
  expect(await again()).toMatchObject({ status: 0, out: expect.stringMatching(/\n1 done\.\n$/) });
  const correction = grade(505, { grade: { type: 'numeric', points: 9 } });
  const corrected = join(office.folder, 'correction.json');
  writeFileSync(corrected, JSON.stringify({ ...JSON.parse(correction), time: new Date().toISOString() }));
  await typed(`publish ${corrected} --wait 60 --stack ${office.file}`);
  expect(await points()).toBe(9);
  expect(await again()).toMatchObject({ status: 0, out: expect.stringMatching(/\n1 done\.\n$/) });
  expect(await points()).toBe(3);
});
