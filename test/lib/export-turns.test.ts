import { describe, expect, test } from 'vitest';
import {
  type Checkpoint,
  checkpointSchema,
  exportRequest,
  newCheckpoint,
  type Task,
} from '../../lib/export-checkpoint.ts';
import { createTurns, type TurnResult, type Turns } from '../../lib/export-turns.ts';
import type { Failure } from '../../lib/failure.ts';

const second = 1_000;
const hour = 3_600_000;
const limits = { backoff: { minimumSeconds: 5, maximumSeconds: 5 }, longestWaitMs: hour };
const run = (...orgUnitIds: number[]): Checkpoint =>
  newCheckpoint(exportRequest.parse({ orgUnitIds }), { runId: 'run', nowMs: 0 });
const turnOf = (turns: Turns, nowMs: number): Task => {
  const turn = turns.take(nowMs);
  if (turn === undefined || !('orgUnitId' in turn))
    throw new Error(`no turn at ${nowMs}: ${JSON.stringify(turn)}`);
  return turn;
};
const failure = (kind: Failure['kind'], more: Partial<Failure> = {}): Failure => ({
  ...{ kind, message: `it is ${kind}`, remedy: 'wait' },
  ...more,
});
const stored = (id: number, lines = 3): TurnResult['stored'][number] => [
  `classlists/${id}`,
  { lines, bytes: 10 * lines },
];
const well = (id: number): TurnResult => ({ stored: [stored(id)], failed: [], left: [] });
const cut = (id: number): TurnResult => ({ stored: [], failed: [], left: [`classlists/${id}`] });
const badly = (id: number, why = failure('unavailable'), done: TurnResult['stored'] = []): TurnResult => ({
  ...{ stored: done, failed: [], left: [`groups/${id}-1`], failure: why },
});
/** As the next invocation finds it. */
const read = (checkpoint: Checkpoint): Checkpoint =>
  checkpointSchema.parse(JSON.parse(JSON.stringify(checkpoint)));

describe('turns', () => {
  test('go to each org unit once, in order, and the counts are those of what was stored', () => {
    const checkpoint = run(1, 2, 3);
    const turns = createTurns(checkpoint, limits);
    for (const id of [1, 2, 3]) {
      const turn = turnOf(turns, 0);
      expect(turn).toMatchObject({ orgUnitId: id, attempts: 0 });
      expect(turn.left).toBeUndefined();
      turns.end(turn, well(id), 0);
    }
    expect(turns.take(0)).toBeUndefined();
    expect(turns.isOver()).toBe(true);
    expect(checkpoint.counts).toEqual({ classlists: { files: 3, lines: 9, bytes: 90 } });
  });

  test('are not over as long as one is under way', () => {
    const turns = createTurns(run(1), limits);
    const turn = turnOf(turns, 0);
    expect(turns.take(0)).toBeUndefined();
    expect(turns.isOver()).toBe(false);
    turns.end(turn, well(1), 0);
    expect(turns.isOver()).toBe(true);
  });

  test('come again for what is left, after the backoff, and before those who have had none', () => {
    const turns = createTurns(run(1, 2, 3), limits);
    turns.end(turnOf(turns, 0), badly(1, failure('unavailable'), [stored(1)]), 0);
    expect(turnOf(turns, second)).toMatchObject({ orgUnitId: 2 });
    expect(turnOf(turns, 6 * second)).toMatchObject({ orgUnitId: 1, left: ['groups/1-1'], attempts: 1 });
  });

  test('of those who are left tell until when they have to wait', () => {
    const turns = createTurns(run(1), limits);
    turns.end(turnOf(turns, 0), badly(1), 0);
    expect(turns.take(0)).toEqual({ untilMs: 5 * second, reason: 'what is left has to wait' });
    expect(turns.isOver()).toBe(false);
  });

  test.each([
    ['throttled', failure('throttled', { retryAfterSeconds: 40 }), 40],
    ['credentials', failure('credentials'), 5],
  ] as const)('wait for everybody after %s', (kind, why, seconds) => {
    const turns = createTurns(run(1, 2), limits);
    turns.end(turnOf(turns, 0), badly(1, why), 0);
    expect(turns.take(second)).toEqual({ untilMs: seconds * second, reason: `it is ${kind}` });
    expect(turnOf(turns, seconds * second)).toMatchObject({ orgUnitId: 1 });
  });

  test('go on with others where one is unlucky, and wait for everybody where eight in a row are', () => {
    const turns = createTurns(run(...Array.from({ length: 20 }, (_, at) => at + 1)), limits);
    for (let id = 1; id <= 7; id += 1) turns.end(turnOf(turns, 0), badly(id), 0);
    turns.end(turnOf(turns, 0), well(8), 0);
    for (let id = 9; id <= 16; id += 1) turns.end(turnOf(turns, 0), badly(id), 0);
    expect(turns.take(0)).toEqual({ untilMs: 5 * second, reason: 'it is unavailable' });
  });
});

describe('what cannot be had', () => {
  test('is given up after the longest wait, and counts from the last time that anything of it was had', () => {
    const checkpoint = run(1);
    const turns = createTurns(checkpoint, limits);
    turns.end(turnOf(turns, 0), badly(1), 0);
    turns.end(turnOf(turns, hour - second), badly(1, failure('unavailable'), [stored(1)]), hour - second);
    turns.end(turnOf(turns, hour + 10 * second), badly(1), hour + 10 * second);
    expect(checkpoint.failures).toEqual([]);
    turns.end(turnOf(turns, 2 * hour), badly(1), 2 * hour);
    expect(checkpoint.failures).toMatchObject([
      { part: 'groups', kind: 'unavailable', message: 'it is unavailable', count: 1, files: ['groups/1-1'] },
    ]);
    expect(turns.isOver()).toBe(true);
  });

  test('for the same reason is one failure, and for another one another', () => {
    const checkpoint = run(1, 2, 3);
    const turns = createTurns(checkpoint, limits);
    const denied = (required: string) => failure('missing-permission', { status: 403, required });
    for (const [id, required] of [
      [1, 'A'],
      [2, 'B'],
      [3, 'A'],
    ] as const) {
      const failed: TurnResult['failed'] = [[`classlists/${id}`, denied(required)]];
      turns.end(turnOf(turns, 0), { stored: [], failed, left: [] }, 0);
    }
    expect(checkpoint.failures).toMatchObject([
      { required: 'A', count: 2, files: ['classlists/1', 'classlists/3'] },
      { required: 'B', count: 1, files: ['classlists/2'] },
    ]);
  });
});

describe('an org unit on which invocations die', () => {
  const invocation = (checkpoint: Checkpoint) => {
    const found = read(checkpoint);
    return { found, turns: createTurns(found, limits) };
  };

  test('is tried alone by the next one, and given up after the third, with all its files; others lose nothing', () => {
    let checkpoint = run(1, 2);
    for (const deaths of [1, 2, 3]) {
      const { turns } = invocation(checkpoint);
      const turn = turns.takeSuspect() ?? turnOf(turns, 0);
      expect(turn).toMatchObject({ orgUnitId: 1, cuts: deaths - 1 });
      checkpoint = turns.snapshot(0);
    }
    const { found, turns } = invocation(checkpoint);
    expect(turns.takeSuspect()).toBeUndefined();
    expect(found.failures).toMatchObject([
      ...['org-units', 'classlists', 'grade-objects', 'course-images'].map((part) => ({
        part,
        kind: 'crashed',
      })),
    ]);
    turns.end(turnOf(turns, 0), well(2), 0);
    expect(turns.isOver()).toBe(true);
    expect(found.counts).toMatchObject({ classlists: { files: 1 } });
  });

  test('is no suspect any more once it has come to its end', () => {
    const { turns } = invocation(run(1));
    turnOf(turns, 0);
    const next = invocation(turns.snapshot(0));
    const suspect = next.turns.takeSuspect();
    expect(suspect).toMatchObject({ orgUnitId: 1 });
    if (suspect) next.turns.end(suspect, well(1), 0);
    expect(next.turns.isOver()).toBe(true);
    expect(next.found.failures).toEqual([]);
  });

  test('is not given up as long as something of it is had before the time ends', () => {
    const { turns, found } = invocation(run(1));
    let turn: Task | undefined = turnOf(turns, 0);
    for (const part of ['org-units', 'classlists', 'grade-objects', 'course-images']) {
      expect(turn).toMatchObject({ orgUnitId: 1 });
      if (turn) turns.end(turn, { ...cut(1), stored: [[`${part}/1`, { lines: 1, bytes: 9 }]] }, 0);
      turn = turns.takeSuspect();
    }
    expect(turn).toMatchObject({ orgUnitId: 1, left: ['classlists/1'] });
    expect(found.failures).toEqual([]);
  });

  test('keeps what was had of it, where its time ends three times', () => {
    const checkpoint = run(1);
    const { turns, found } = invocation(checkpoint);
    turns.end(turnOf(turns, 0), { ...cut(1), stored: [['org-units/1', { lines: 1, bytes: 9 }]] }, 0);
    for (const _ of [2, 3]) {
      const suspect = turns.takeSuspect();
      if (suspect) turns.end(suspect, cut(1), 0);
    }
    expect(turns.takeSuspect()).toBeUndefined();
    expect(found.failures).toMatchObject([{ part: 'classlists', kind: 'crashed', files: ['classlists/1'] }]);
    expect(found.counts).toEqual({ 'org-units': { files: 1, lines: 1, bytes: 9 } });
  });
});
