// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { integration as gradePush } from '../../../functions/grade-push.ts';
import type { Report } from '../../../lib/options/reconcile/record.ts';
import { filesIn } from '../../local/bucket.ts';
import { controlsOf } from '../../local/controls.ts';
import { startLambda } from '../../local/lambda/lambda.ts';
import { durableOptionsOf, type Stack, settingsOf, startStack } from '../../local/stack.ts';
import { findingsOf, send } from './effect/stage.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ functions: false });
});
afterAll(() => stack.close());

const { textAt } = filesIn(() => stack);
const grade = (userId: number, points: number) => ({
  orgUnitId: 2001,
  gradeObjectId: 5001,
  userId,
  grade: { type: 'numeric', points },
  comments: 'well done',
  privateComments: '',
});

test('killed at any moment it goes on, and finds what there is, once', async () => {
  const controls = controlsOf(stack.description);
  const userIds = Array.from({ length: 1_500 }, (_, place) => 10_001 + place);
  await controls.seed({ users: userIds.map((userId) => ({ userId })) });
  await send({ stack }, { integration: gradePush, data: userIds.map((userId) => grade(userId, 5)) });
  const removed = userIds.filter((_, place) => place % 10 === 0);
  await controls.remove({ gradeValues: removed.map((userId) => ({ gradeObjectId: 5001, userId })) });
  // Else it would be over before it is killed.
  await controls.fault({ delayMs: 60 }, { method: 'GET', path: '/values/', times: 1_000_000 });
  const own = { LOG_LEVEL: 'silent', QUEUE_VISIBILITY_SECONDS: '1', QUEUE_BACKLOG_SECONDS: '1' };
  const env = { ...settingsOf(stack.description, 'reconcile'), ...own };
  const lambda = await startLambda({
    functions: {
      reconcile: {
        handler: 'functions/reconcile.handler',
        env,
        timeoutMs: 60_000,
        maximumConcurrency: 1,
        durable: durableOptionsOf('reconcile'),
      },
    },
    executions: stack.executions,
  });
  let kills = 0;
  const killing = setInterval(() => {
    if (kills < 8 && lambda.kill('reconcile') !== undefined) kills += 1;
  }, 1_700);
  const result = await lambda.invoke('reconcile', { whole: true }).finally(() => clearInterval(killing));
  await lambda.close();
  expect(kills).toBeGreaterThan(2);
  if (!result.ok) throw new Error(result.error.errorMessage);
  const report = result.payload as Report;
  expect(report).toMatchObject({ state: 'whole', findings: removed.length });
  expect(report.tallies.recent).toMatchObject({ selected: 1_500, looked: 1_500, uncompared: 0 });
  const findings = await findingsOf(report, textAt);
  expect(findings.map(({ subject }) => subject.userId).sort()).toEqual(removed.map(Number).sort());
});
