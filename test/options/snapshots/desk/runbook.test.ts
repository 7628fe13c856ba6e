import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect } from 'vitest';
import { importJob } from '../../../../lib/options/snapshots/import.ts';
import { importSettings } from '../../../../lib/options/snapshots/import-settings.ts';
import { createSnapshotServices } from '../../../../lib/options/snapshots/snapshot-services.ts';
import { reassignedKey } from '../../../../lib/options/snapshots/state/reassigned-names.ts';
import { options } from '../../../../lib/options.ts';
import { readSettings } from '../../../../lib/runtime/aws/setting.ts';
import { loadIntegrations } from '../../../../lib/stage/integrations.ts';
import { localOffice } from '../../../lib/desk/cli/local-office.ts';
import { type Follow, typeEachCommand, typeFor } from '../../../lib/desk/cli/typed-runbook.ts';
import { type Bucket, putText } from '../../../local/bucket.ts';
import { answerOf, executionHere } from '../../../local/in-this-process.ts';
import { durableOptionsOf, settingsOf } from '../../../local/stack.ts';
import { entriesOfSis, smallSis, zipOf } from '../sis.ts';
import { waitingImport } from './waiting-import.ts';

const office = localOffice({ functions: false });

const hasCrosswalkCommands = options.some(({ name }) => name === 'crosswalk-fill');

const bucketHere = (): Bucket => {
  const { s3, description } = office.stack();
  return { s3, bucket: description.bucket };
};

const files = ['tonight.zip', 'registrations.csv', 'mapping.json'];

beforeAll(async () => {
  writeFileSync(join(office.folder, 'registrations.csv'), 'COURSE_ID,LOGIN,ROLE\nMATH-101,ann,S\n');
  const roleId = { from: 'ROLE', values: { S: 110 } };
  const data = { orgUnitCode: 'COURSE_ID', userName: 'LOGIN', roleId };
  const mapping = { messages: [{ function: 'enrollment-create', data, key: ['COURSE_ID', 'LOGIN'] }] };
  writeFileSync(join(office.folder, 'mapping.json'), JSON.stringify(mapping));
  writeFileSync(join(office.folder, 'tonight.zip'), await zipOf(entriesOfSis(smallSis())));
  const roles = { student: 110, teacher: 109 };
  await putText(bucketHere(), 'snapshot-settings.json', JSON.stringify({ roles }));
});

/** A user name that has passed: each time to another record, as nobody has accepted that yet. */
let records = 0;
const nameThatPassed = async () => {
  records += 1;
  const passed = {
    name: 'lena.learner',
    userId: 301,
    record: `u-${records}`,
    sinceMs: Date.now(),
    enrollments: 2,
    results: 1,
    courses: ['MATH-101'],
  };
  await putText(bucketHere(), reassignedKey, JSON.stringify({ field: 'userName', names: [passed] }));
};

/** Files that were accepted and come no more, and the function that ends them. Imports that others left waiting would be in the way. */
const filesThatComeNoMore = async () => {
  const stack = office.stack();
  const { executions, description } = stack;
  const name = 'snapshot-import';
  const { functionArn } = durableOptionsOf(name);
  for (const { arn, status } of executions.of(functionArn)) if (status === 'RUNNING') executions.stop(arn);
  const environment = { ...settingsOf(description, name), LOG_LEVEL: 'silent' };
  Object.assign(process.env, environment);
  const services = {
    ...(await createSnapshotServices(readSettings(importSettings, environment), loadIntegrations)),
    running: executions.running,
  };
  const imported = (event: unknown, execution?: string) =>
    executionHere(
      stack,
      importJob(async () => services),
      { name, event, execution },
    );
  executions.serve((_, event, execution) => imported(event, execution));
  const bucket = bucketHere();
  const data = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
  const message = {
    function: 'enrollment-create',
    key: ['COURSE', 'LOGIN'],
    data: { ...data, roleId: { value: 110 } },
    removed: { function: 'enrollment-remove', data },
  };
  await putText(bucket, 'snapshot-mapping.json', JSON.stringify({ messages: [message] }));
  for (const file of ['last-term.csv', 'backfill-1.csv']) {
    await putText(bucket, `snapshots/${file}`, `COURSE,LOGIN\nBIO-101,${file.split('.')[0]}\n`);
    expect(answerOf(await imported({ key: `snapshots/${file}` }))).toMatchObject({ outcome: 'accepted' });
  }
};

const follow: Follow = async (command, more) => {
  const { executions } = office.stack();
  if (command.includes('sis-relay crosswalk')) await nameThatPassed();
  if (command.includes('snapshots end')) await filesThatComeNoMore();
  const id = command.includes('<id>') ? (await waitingImport(executions, bucketHere())).record.id : '';
  return typeFor(office, command, { open: { '<id>': id }, files, more });
};

typeEachCommand('lib/options/snapshots/README.md', follow, {
  // Nothing was put under snapshots/.
  endsWith1: /snapshots list$/,
  // Those of another option, which may be deleted.
  isThere: (command) => !command.includes('sis-relay crosswalk') || hasCrosswalkCommands,
});
