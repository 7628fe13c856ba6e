// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Groups } from '../../../../../lib/desk/messages/letters/list.ts';
import { countsOf } from '../../../../../lib/desk/messages/letters/queue.ts';
import type { ReindexResult } from '../../../../../lib/desk/messages/letters/reindex.ts';
import type { ReplayResult } from '../../../../../lib/desk/messages/replay/replay.ts';
import { sendAll } from '../../../../../lib/runtime/aws/sqs.ts';
import { documentIn, typed } from '../../cli/typed.ts';
import { kinds, mondayOffice } from './monday-office.ts';

/** Letters of each kind; the proof `monday` asks for 300. */
const each = Number(process.env.LETTERS_PER_KIND ?? 6);

const { office, attempts, usersOf, grade, ...monday } = mondayOffice(each);

/** The command's JSON document, and what is to happen when something is sent for the first time. */
const sisRelay = async <Document>(line: string, onBegin: () => void = () => {}) => {
  const { status, out } = await typed(`${line} --json --stack ${office.file}`, {
    onErr: (piece) => {
      if (piece.startsWith('Recorded as ')) onBegin();
    },
  });
  return { status, document: documentIn<Document>(out) };
};
const replay = async (options: string, onBegin?: () => void) => {
  const { status, document } = await sisRelay<{ plan?: ReplayResult['plan']; result?: ReplayResult }>(
    `letters replay --yes --rate 500 --canary-wait 120 ${options}`,
    onBegin,
  );
  return { status, ...document };
};
const lettersByKind = async () => {
  const { document } = await sisRelay<Groups>('letters groups');
  const counts: Record<string, number> = {};
  for (const { kind, letters } of document.groups) counts[kind] = (counts[kind] ?? 0) + letters;
  return counts;
};
/** Of any kind, those that only ask what can succeed yet among them. */
const requests = async () =>
  (await office.controls().requests()).filter(({ path }) => !path.includes('_local')).length;

test(`an operator’s Monday: ${each * kinds.length} letters of ten kinds are seen, planned and put right`, async () => {
  await monday.befall();

  // A letter whose record could not be written in time is in the queue alone, until somebody corrects the lists. No other is.
  const unrecorded = monday.unrecorded();
  if (unrecorded > 0) {
    const { document } = await sisRelay<ReindexResult>('letters reindex');
    expect(document.added).toBeLessThanOrEqual(unrecorded);
  }

  // Seen: ten groups, each counted, with the exact scope to ask for.
  expect(await lettersByKind()).toEqual(
    Object.fromEntries(kinds.map((kind) => [kind, usersOf(kind).length])),
  );
  const { document } = await sisRelay<Groups>('letters groups --kind missing-scope');
  expect(document.groups).toMatchObject([
    { grants: ['grades:gradevalues:write'], remedy: expect.stringContaining('grades:gradevalues:write') },
  ]);

  // The key is still refused: nothing that the service signs can succeed, and nothing of it is sent.
  const dry = await replay('--dry-run --kind credentials --kind unavailable --kind rejected');
  expect(dry.plan?.send).toEqual([]);
  expect(dry.plan?.notYet.every(({ why }) => why.includes('credential'))).toBe(true);

  // Once it is restored, but the other causes are not: the canary stops it.
  await monday.restoreKey();
  const before = await requests();
  const early = await replay('--kind missing-scope --kind missing-permission --kind rejected');
  expect(early).toMatchObject({ status: 1, result: { ended: 'stopped', counts: { sent: 5, cameBack: 5 } } });
  const causes = early.result?.counts?.cameBackAs.map(({ kind }) => kind).sort();
  expect(causes).toEqual(['missing-permission', 'missing-scope', 'rejected']);
  expect((await requests()) - before).toBeLessThanOrEqual(5 + 5);

  await monday.removeCauses();

  const late = usersOf('invalid').map((userId) => grade(userId, { grade: null, gradeObjectId: 5002 }));
  let arriving: Promise<unknown> = Promise.resolve();
  const { sqs, description } = office.stack();
  const main = await replay('', () => {
    arriving = sendAll(
      { sqs, url: description.queues['grade-push'] ?? '' },
      late.map((body) => ({ body, attributes: {} })),
    );
  });
  await arriving;
  expect(main.plan?.uncertain.reduce((sum, { letters }) => sum + letters, 0)).toBe(each);
  // Their function would refuse them again, which the plan says.
  expect(main.plan?.notYet).toMatchObject([{ kind: 'invalid', letters: each }]);
  expect(main.result, JSON.stringify(main.result?.counts?.cameBackAs)).toMatchObject({
    ended: 'done',
    counts: {
      sent: 8 * each,
      through: 8 * each,
      stillInvalid: 0,
      failed: [],
      undeleted: [],
      setAside: 0,
      notTried: 0,
      gone: 0,
    },
  });

  const uncertain = await replay('--kind uncertain --include-uncertain');
  expect(uncertain.result).toMatchObject({ ended: 'done', counts: { sent: each, through: each } });

  // What arrived meanwhile lies untouched beside what is invalid.
  await monday.expectDone();
  while ((await countsOf({ sqs, url: description.deadLetters })).visible < 2 * each) await sleep(50);
  expect(await lettersByKind()).toEqual({ invalid: 2 * each });

  // No letter was replayed twice, but for the canary that came too early.
  const replayed = attempts.filter(({ replays = 0 }) => replays > 0);
  const perMessage = Map.groupBy(replayed, ({ eventId, replays }) => `${eventId} ${replays}`);
  expect(
    [...perMessage.values()].filter(
      (all) => all.length > 1 && !all.some(({ outcome }) => outcome === 'waiting'),
    ),
  ).toEqual([]);
  expect(perMessage.size).toBe(9 * each + 5);
}, 1_200_000);
