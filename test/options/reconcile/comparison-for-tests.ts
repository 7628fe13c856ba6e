import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { beforeEach } from 'vitest';
import { integration as enrollmentCreate } from '../../../functions/enrollment-create.ts';
import { integration as enrollmentRemove } from '../../../functions/enrollment-remove.ts';
import { integration as gradePush } from '../../../functions/grade-push.ts';
import type { Report } from '../../../lib/options/reconcile/record.ts';
import { jobForTests } from '../../functions/job-for-tests.ts';
import { localClient } from '../../local/aws/aws.ts';
import { addLedgerTable } from '../../local/aws/tables.ts';
import { type Stage, send } from './effect/stage.ts';

/** What is sent to the local platform, and then compared. Each test has a ledger and a bucket of its own. */
export function comparisonForTests() {
  const course = 2001;
  const [learner, instructor] = [110, 109];
  let stage: Stage | undefined;
  let tries = 0;
  const bucket = () => `bucket-${tries}`;
  const job = jobForTests('reconcile', { bucket });
  const { time, stack } = job;

  /** With a ledger and a bucket of its own. */
  const newStage = async (): Promise<void> => {
    tries += 1;
    const settings = { LEDGER_TABLE: `ledger-${tries}`, RECONCILE_BUCKET: bucket() };
    stage = { stack: stack(), settings, rest: async () => time.pass(10_000) };
    await addLedgerTable(stack().description.dynamodb, settings.LEDGER_TABLE);
    await stack().s3.send(new CreateBucketCommand({ Bucket: bucket() }));
  };
  beforeEach(newStage);
  const stageNow = (): Stage => {
    if (stage === undefined) throw new Error('No test has begun.');
    return stage;
  };

  /** With settings of its own. */
  const staged = (settings: Record<string, string>): Stage => ({
    ...stageNow(),
    settings: { ...stageNow().settings, ...settings },
  });

  const grade = (userId: number, points: number, more: object = {}) => ({
    orgUnitId: course,
    gradeObjectId: 5001,
    userId,
    grade: { type: 'numeric', points },
    comments: 'well done',
    privateComments: '',
    ...more,
  });
  const grades = (...data: object[]) => send(stageNow(), { integration: gradePush, data });
  const enrollIn = (orgUnitId: number, ...userIds: number[]) =>
    send(stageNow(), {
      integration: enrollmentCreate,
      data: userIds.map((userId) => ({ orgUnitId, userId, roleId: learner })),
    });
  const removeFrom = (orgUnitId: number, ...userIds: number[]) =>
    send(stageNow(), {
      integration: enrollmentRemove,
      data: userIds.map((userId) => ({ orgUnitId, userId })),
    });
  const classesIn = ({ tallies }: Report) => {
    const all: Record<string, number> = {};
    for (const { byClass } of Object.values(tallies))
      for (const [name, count] of Object.entries(byClass))
        if (count > 0) all[name] = (all[name] ?? 0) + count;
    return all;
  };
  /** The key of the digests. */
  const rotate = async (value: string) => {
    const client = new SecretsManagerClient(localClient(stack().description.secretsManager));
    const SecretId = stack().description.secrets.ledgerKey;
    await client.send(new PutSecretValueCommand({ SecretId, SecretString: value.repeat(64) }));
    client.destroy();
  };
  const at = (offsetMs: number): string => new Date(Date.now() + offsetMs).toISOString();
  return {
    course,
    learner,
    instructor,
    bucket,
    job,
    newStage,
    stageNow,
    staged,
    grade,
    grades,
    enrollIn,
    removeFrom,
    classesIn,
    rotate,
    at,
  };
}
