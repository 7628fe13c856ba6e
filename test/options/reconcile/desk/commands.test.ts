import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { beforeEach, describe, expect, test } from 'vitest';
import { createLetterIndexWriter } from '../../../../lib/delivery/letters/letter-index-writer.ts';
import { groupIdOf } from '../../../../lib/options/reconcile/desk/groups.ts';
import { lastComparison, listReports } from '../../../../lib/options/reconcile/desk/read.ts';
import {
  acceptedPrefix,
  type ResendResult,
  reportKey,
  resendKey,
  resendResultKey,
} from '../../../../lib/options/reconcile/record.ts';
import { localOffice } from '../../../lib/desk/cli/local-office.ts';
import { eventBody, failureOf, never } from '../../../lib/desk/cli/office.ts';
import { documentIn, typed } from '../../../lib/desk/cli/typed.ts';
import { putText } from '../../../local/bucket.ts';
import { enrollmentOf, findingOf, reportOf, tallyOf, writeRun } from './runs.ts';

const office = localOffice({ functions: false });
const type = (line: string, more = {}) => typed(`reconcile ${line} --stack ${office.file}`, more);
const bucket = async () => ({
  s3: await office.target().s3(),
  bucket: office.stack().description.bucket,
});
const write = async (
  ...[report, findings]: [Parameters<typeof writeRun>[1], Parameters<typeof writeRun>[2]?]
) => writeRun(await bucket(), report, findings);
const put = async (key: string, value: object) => putText(await bucket(), key, JSON.stringify(value));
const objectsUnder = async (prefix: string) => {
  const { s3, bucket: Bucket } = await bucket();
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: prefix }));
  return Contents.map(({ Key = '' }) => Key);
};
const json = async (key: string) => {
  const { s3, bucket: Bucket } = await bucket();
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: key }));
  return JSON.parse((await Body?.transformToString()) ?? '');
};

/** What of this command is in the audit log since then. */
const audited = async (command: string, before: string[]) => {
  const keys = (await objectsUnder('audit/')).filter((key) => !before.includes(key));
  const entries = await Promise.all(keys.sort().map(json));
  return entries.filter((entry) => entry.command === command);
};

type ReconcileEvent = { whole?: boolean; id?: string; resend?: string };
/** In place of the function: what it does when it is invoked; false: its execution fails. */
let work: (asked: ReconcileEvent) => Promise<boolean>;
const invoked: unknown[] = [];
beforeEach(() => {
  invoked.length = 0;
  const { executions } = office.stack();
  executions.serve((name, event, execution) => {
    invoked.push([name, event, execution]);
    const functionArn = `arn:aws:lambda:us-east-1:000000000000:function:${name}`;
    return executions.run(event, { functionArn, executionTimeoutMs: 60_000, name: execution }, async () => {
      const isDone = await work(event as ReconcileEvent);
      const failure = { ErrorType: 'Error', ErrorMessage: 'the bucket is full' };
      return { ok: true, payload: isDone ? { Status: 'SUCCEEDED' } : { Status: 'FAILED', Error: failure } };
    });
  });
});

describe('crosswalk fill', () => {
  const fill = (options: string, more = {}) =>
    typed(`crosswalk fill ${options} --stack ${office.file}`, more);
  const endingAs = (end: object): void => {
    const { executions } = office.stack();
    executions.serve((name, event, execution) => {
      invoked.push([name, event]);
      const functionArn = `arn:aws:lambda:us-east-1:000000000000:function:${name}`;
      const options = { functionArn, executionTimeoutMs: 60_000, name: execution };
      return executions.run(event, options, async () => ({ ok: true, payload: end }));
    });
  };
  const succeeded = (result: object) => ({ Status: 'SUCCEEDED', Result: JSON.stringify(result) });

  test('has it filled now, and tells the result', async () => {
    endingAs(succeeded({ outcome: 'filled', message: 'The crosswalk is filled.' }));
    const before = await objectsUnder('audit/');
    expect(await fill('--classlists')).toMatchObject({ status: 0, out: '✓ The crosswalk is filled.\n' });
    expect(invoked).toEqual([['crosswalk-fill', { classlists: true, acceptRemovals: false }]]);
    expect(await audited('crosswalk fill', before)).toMatchObject([{}, { counts: { started: 1 } }]);
  });

  test('is no success where names are held, and names the next command', async () => {
    const message =
      'too many would change. If the sources are right: `sis-relay crosswalk fill --accept-removals`';
    endingAs(succeeded({ outcome: 'held', message }));
    const { status, out } = await fill('');
    expect(status).toBe(1);
    expect(out).toContain('too many would change.');
    expect(out).toContain('sis-relay crosswalk fill --accept-removals --stack');
  });

  test('is no success where its execution fails', async () => {
    endingAs({ Status: 'FAILED', Error: { ErrorType: 'Error', ErrorMessage: 'no list' } });
    const { status, err } = await fill('');
    expect({ status, err: err.replace(/\s+/g, ' ') }).toEqual({
      status: 1,
      err: expect.stringContaining('it failed: no list'),
    });
  });

  test('removes names only after it was agreed', async () => {
    endingAs(succeeded({ outcome: 'filled', message: 'The crosswalk is filled.' }));
    expect((await fill('--accept-removals', { answers: ['n'] })).status).toBe(1);
    expect(invoked).toEqual([]);
    expect((await fill('--accept-removals --reason gone', { answers: ['y'] })).status).toBe(0);
    expect(invoked).toEqual([['crosswalk-fill', { classlists: false, acceptRemovals: true }]]);
  });
});

describe('show', () => {
  test('is refused where nothing was ever compared', async () => {
    const { status, err } = await type('show');
    expect({ status, err }).toEqual({
      status: 1,
      err: expect.stringContaining('was not compared with what was sent yet'),
    });
    expect(await lastComparison(office.target(), never)).toBeUndefined();
  });

  test('tells what is known, the counts, and of each group the remedy and the next command', async () => {
    const missing = [findingOf(), findingOf(), findingOf()];
    const changed = findingOf({ class: 'changed', fields: ['comments'] });
    const recent = tallyOf(512_340, { missing: 3, changed: 1 });
    const report = await write(reportOf({ tallies: { recent } }), [...missing, changed]);
    const { status, out, err } = await type('show');
    expect({ status, err }).toEqual({ status: 1, err: '' });
    expect(out).toContain(`Run ${report.id}: complete`);
    expect(out.replace(/\n\s*/g, ' ')).toContain(
      '512,340 writes of the last 25 hours: all were compared; 3 differ: 3 missing. Also: 1 changed',
    );
    expect(out).toContain('3 faults are not accepted.');
    expect(out).toMatch(/^512,336\s+same\s+512,336\s+–\s+is as it was sent$/m);
    const id = groupIdOf(missing[0]!);
    expect(out).toMatch(new RegExp(`^${id} +Grades missing \\(grade\\)$`, 'm'));
    expect(out).toContain(`sis-relay reconcile resend ${id} --reason "…"`);
    expect(out).toContain(`sis-relay reconcile accept ${groupIdOf(changed)} --reason "…"`);
    expect(out).not.toContain(`reconcile resend ${groupIdOf(changed)}`);

    const listed = await type(`show ${report.id.slice(0, -4)} --findings ${id}`);
    expect(
      listed.out
        .split('\n')
        .slice(1, 4)
        .map((line) => line.split(' ')[0]),
    ).toEqual(missing.map(({ resource }) => resource));
    expect((await type('show --findings --limit 2')).out).toContain(
      'The first 2 of 4: a higher --limit shows more.',
    );
    const { out: document } = await type('show --json');
    expect(documentIn(document)).toMatchObject({
      id: report.id,
      state: 'whole',
      faults: 3,
      omitted: 0,
      counts: { missing: 3, changed: 1 },
      groups: [{ id, findings: 3 }, { class: 'changed' }],
      report: { id: report.id },
    });
    expect(documentIn<{ findings: object[] }>(document).findings[0]).toMatchObject({
      class: 'missing',
      resource: missing[0]!.resource,
      subject: missing[0]!.subject,
      fields: ['grade'],
      writtenAt: expect.stringMatching(/^20.*Z$/),
    });
    const { out: all } = await typed(`status --stack ${office.file}`);
    expect(all.replace(/\n\s*/g, ' ')).toMatch(
      /Last comparison with the platform: .* ago \(complete\), 3 unaccepted faults/,
    );
  });

  test('ends with 0 where no fault is left, and with 1 where the run failed', async () => {
    await write(reportOf({ tallies: { recent: tallyOf(10, { changed: 1 }) } }), [
      findingOf({ class: 'changed' }),
    ]);
    expect(await type('show')).toMatchObject({ status: 0 });
    const report = await write(reportOf({ state: 'failed', why: 'the key is refused' }));
    expect(await type(`show ${report.id}`)).toMatchObject({
      status: 1,
      out: expect.stringContaining('It failed: the key is refused.'),
    });
  });

  test('shows the last that ended, and names a newer one', async () => {
    await write(reportOf());
    const newer = await write(reportOf({ state: 'running' }));
    expect((await type('show')).out).toContain(`There is a newer run, ${newer.id}: it is running.`);
    expect((await type(`show ${newer.id}`)).out).toContain('It is still running');
  });

  test.each([
    ['none', '2027', /There is no run 2027/],
    ['no id at all', '../accepted', /There is no run/],
    ['more than one', '20', /runs have an id that begins with 20, such as/],
  ])('is refused of what names %s', async (_, given, sentence) => {
    expect((await type(`show ${given}`)).err).toMatch(sentence);
  });

  test('prints nothing of the bucket that a terminal obeys, and counts what it cannot read', async () => {
    const evil = '\u001B[2J\u202Eevil\u0007';
    const report = reportOf({ snapshots: [evil], tallies: { snapshot: tallyOf(5, { unreadable: 1 }) } });
    const { id } = await write(report, [
      findingOf({
        class: 'unreadable',
        resource: evil,
        fields: [evil],
        error: evil,
        kind: evil,
        messageId: evil,
      }),
      { version: 'to come' } as never,
    ]);
    for (const line of ['', ' --findings', ' --json', ' --findings --json']) {
      const { out } = await type(`show ${id}${line}`);
      expect(out).toContain('evil');
      expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    }
    expect((await type('show')).out).toContain('1 line or part of the findings cannot be read');
  });
});

describe('run', () => {
  const fault = findingOf({ class: 'older' });
  const finish =
    (state: 'whole' | 'failed') =>
    async ({ id = '' }: ReconcileEvent) => {
      const running = {
        ...reportOf({ state: 'running', tallies: { recent: tallyOf(1, { selected: 2 }) } }),
        id,
      };
      await write(running);
      await write({ ...reportOf({ state, tallies: { recent: tallyOf(2, { older: 1 }) } }), id }, [fault]);
      return state !== 'failed';
    };

  test('compares all at once, waits, and prints one document', async () => {
    work = finish('whole');
    const entries = await objectsUnder('audit/');
    const { status, out } = await type('run --json');
    const { id, ...document } = documentIn(out);
    expect(document).toMatchObject({
      state: 'whole',
      counts: { same: 1, older: 1 },
      findings: [{ class: 'older', resource: fault.resource, subject: fault.subject, fields: ['grade'] }],
    });
    expect(status).toBe(1);
    expect(invoked).toEqual([['reconcile', { whole: true, id }, id]]);
    expect(await audited('reconcile run', entries)).toMatchObject([{ audit: 'begin' }, { audit: 'end' }]);
  });

  test('as the schedule does, and without waiting', async () => {
    work = finish('whole');
    const { status, out } = await type('run --nightly --no-wait');
    expect(status).toBe(0);
    const [[name, asked, execution]] = invoked as [[string, { id: string }, string]];
    expect([name, asked]).toEqual(['reconcile', { id: execution }]);
    expect(out).toContain(`Run ${execution} has started.\nTo see it: sis-relay reconcile show ${execution}`);
  });

  test('tells that it failed, by its report or by its execution', async () => {
    work = finish('failed');
    expect(await type('run')).toMatchObject({ status: 1, out: expect.stringContaining('It failed') });
    work = async () => false;
    const { status, err } = await type('run');
    expect({ status, err: err.replace(/\s+/g, ' ') }).toEqual({
      status: 1,
      err: expect.stringMatching(/has ended without a result: it failed. Look at its log/),
    });
  });
});

describe('accept', () => {
  test('takes findings out of what is to be decided, with a reason that is kept', async () => {
    const all = [findingOf(), findingOf(), enrollmentOf({ class: 'different' })];
    const report = await write(
      reportOf({ tallies: { recent: tallyOf(9, { missing: 2, different: 1 }) } }),
      all,
    );
    const [group, resource] = [groupIdOf(all[0]!), all[2]!.resource];
    const before = await objectsUnder(acceptedPrefix);
    expect(await type(`accept ${group} --reason why`, { answers: ['n'] })).toMatchObject({ status: 1 });
    expect(await objectsUnder(acceptedPrefix)).toEqual(before);

    const entries = await objectsUnder('audit/');
    const said = await type(`accept ${group} --reason "by hand"`, { answers: ['y'] });
    expect(said).toMatchObject({ status: 0, asked: ['Accept 2 differences? [y/N] '] });
    expect(said.out).toContain(`As run ${report.id} reports:`);
    expect(await audited('reconcile accept', entries)).toMatchObject([
      { audit: 'begin', reason: 'by hand', counts: { findings: 2 } },
      { audit: 'end', counts: { accepted: 2 } },
    ]);
    expect(said.err).toMatch(/^Recorded as [0-9a-f]{8} by \S+\.\n$/m);
    expect(said.err).not.toContain('{');
    const [key = ''] = (await objectsUnder(acceptedPrefix)).filter((each) => !before.includes(each));
    expect(await json(key)).toMatchObject({
      why: 'by hand',
      findings: all.slice(0, 2).map(({ resource, writtenMs }) => ({ resource, class: 'missing', writtenMs })),
    });
    const { status, out } = await type('show');
    expect(status).toBe(1);
    expect(out).toContain('Operators have accepted 2 differences.');
    expect(out).not.toContain(group);

    const { out: rest } = await type(`accept ${resource} --reason "by hand" --yes --json`);
    expect(documentIn(rest)).toMatchObject({ run: report.id, accepted: 1 });
    expect(await type('show')).toMatchObject({ status: 0 });
    const again = await type(`accept ${resource} --reason why --yes`);
    expect(again).toMatchObject({ status: 1, err: expect.stringMatching(/no group and no resource/) });
  });

  test('that cannot be read is an error, and not taken for nothing that was accepted', async () => {
    await write(reportOf(), []);
    const key = `${acceptedPrefix}99991231T000000Z-0a1b2c3d.json`;
    await putText(await bucket(), key, '{"findings":');
    expect(await type('show')).toMatchObject({ status: 1, err: expect.stringContaining('JSON') });
    await put(key, {});
    expect(await type('show')).toMatchObject({ status: 0 });
  });

  test('needs a reason', async () => {
    expect(await type('accept 00000000')).toMatchObject({ status: 2 });
  });
});

describe('resend', () => {
  const outcomes =
    (state: ResendResult['state'], told: ResendResult['outcomes'], why?: string) =>
    async ({ resend: id = '' }: ReconcileEvent) => {
      await put(resendResultKey(id), { id, state, ...(why && { why }), outcomes: told });
      return true;
    };

  test('asks the function, waits, and tells what became of each', async () => {
    const all = [findingOf(), findingOf(), findingOf({ class: 'older' })];
    await write(reportOf(), all);
    const [sent, newer, held] = all.map(({ resource }) => resource) as [string, string, string];
    work = outcomes('done', [
      { resource: sent, outcome: 'sent', messageId: 'm' },
      { resource: newer, outcome: 'newer' },
      { resource: held, outcome: 'not-held' },
    ]);
    const entries = await objectsUnder('audit/');
    const { status, out, asked } = await type(`resend ${groupIdOf(all[0]!)} ${held} --reason lost`, {
      answers: ['y'],
    });
    expect(asked).toEqual(['Send 3 writes again? [y/N] ']);
    const [[name, request]] = invoked as [[string, { resend: string }]];
    expect(name).toBe('reconcile');
    expect(await json(resendKey(request.resend))).toMatchObject({ why: 'lost', findings: [{}, {}, {}] });
    expect(out.replace(/\n\s*/g, ' ')).toMatch(
      /1 message sent\. .* 1 not sent: written again since, or changed on the platform\. .* 1 not sent: no snapshot/,
    );
    expect(out.replace(/\n\s*/g, '')).toContain(`reconcile/resends/${request.resend}-for-the-sis.csv`);
    expect((await audited('reconcile resend', entries)).at(-1)).toMatchObject({
      audit: 'end',
      counts: { sent: 1, newer: 1, 'not-held': 1 },
    });
    // Not all of it went out.
    expect(status).toBe(1);
  });

  test('sends once what the ledger and a snapshot both show', async () => {
    const lost = enrollmentOf();
    await write(reportOf(), [lost, { ...lost, reason: 'snapshot' }]);
    work = outcomes('done', [{ resource: lost.resource, outcome: 'sent', messageId: 'm' }]);
    const { status, out } = await type(`resend ${lost.resource} --reason lost --yes`);
    expect({ status, out }).toEqual({ status: 0, out: expect.stringContaining('1 message sent') });
    const [[, { resend }]] = invoked as [[string, { resend: string }]];
    expect((await json(resendKey(resend))).findings).toHaveLength(1);
  });

  test('leaves out what lies as a letter, and names the replay', async () => {
    const [lies, lost] = [findingOf(), findingOf()];
    await write(reportOf(), [lies, lost]);
    const { dynamodb, deskTable: table } = office.target();
    const notes = createLetterIndexWriter({
      dynamodb,
      table,
      nowMs: Date.now,
      function: 'grade-push',
      warn: () => {},
    } as Parameters<typeof createLetterIndexWriter>[0]);
    const letter = {
      body: eventBody('grade-push'),
      source: '',
      attributes: {},
      replays: 0,
      failure: failureOf(),
    };
    await notes.recordLetter('00000000-0000-4000-8000-000000000001', letter, { resource: lies.resource });
    work = outcomes('done', [{ resource: lost.resource, outcome: 'sent', messageId: 'm' }]);
    const { out } = await type(`resend ${groupIdOf(lies)} --reason lost --yes`);
    expect(out.replace(/\n\s*/g, ' ')).toContain(
      '1 finding is not sent, because the message is a dead letter',
    );
    expect(out).toContain('sis-relay letters replay --id 00000000-0000-4000-8000-000000000001');
    const [[, { resend }]] = invoked as [[string, { resend: string }]];
    expect((await json(resendKey(resend))).findings).toMatchObject([{ resource: lost.resource }]);
    invoked.length = 0;
    const only = await type(`resend ${lies.resource} --reason lost --yes`);
    expect(only).toMatchObject({ status: 1, asked: [], out: expect.stringContaining('nothing to send') });
    expect(invoked).toEqual([]);
  });

  test.each([
    ['changed', /it was changed on the platform since/],
    ['extra', /sis-relay has not written it/],
    ['unreadable', /could not be read, so it is not known whether/],
  ] as const)('is refused of what is %s', async (its, sentence) => {
    const finding = enrollmentOf({ class: its });
    await write(reportOf(), [finding, findingOf()]);
    const { status, err } = await type(`resend ${finding.resource} --reason lost --yes`);
    expect({ status, err: err.replace(/\s+/g, ' ') }).toEqual({
      status: 1,
      err: expect.stringMatching(sentence),
    });
    expect(invoked).toEqual([]);
  });

  test('that failed says why', async () => {
    const finding = findingOf();
    await write(reportOf(), [finding]);
    work = outcomes('failed', [], 'the queue is gone');
    expect(await type(`resend ${finding.resource} --reason lost --yes`)).toMatchObject({
      status: 1,
      out: expect.stringContaining('It failed: the queue is gone.'),
    });
  });
});

describe('report', () => {
  test('is written to a new file that nobody else may read', async () => {
    const report = await write(reportOf({ tallies: { recent: tallyOf(9, { missing: 1 }) } }), [findingOf()]);
    const file = join(office.folder, 'november.html');
    expect(await type(`report --html ${file}`)).toMatchObject({ status: 0, out: `Written to ${file}.\n` });
    const page = readFileSync(file, 'utf8');
    expect(page).toContain(`Run ${report.id}: complete`);
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await type(`report --html ${file}`)).toMatchObject({
      status: 1,
      err: expect.stringMatching(/already\s+exists/),
    });
    expect(readFileSync(file, 'utf8')).toBe(page);
    const { out } = await type('report --html -');
    expect(out).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
    expect(existsSync('-')).toBe(false);
  });
});

test('the list leaves out what is no run, or is of another version', async () => {
  const all = await listReports(office.target(), { limit: 1_000, signal: never });
  await put(reportKey('20271123T235900Z-00000000'), { version: 'to come' });
  await put('reconcile/executions/x/part-1.gz', {});
  expect(await listReports(office.target(), { limit: 1_000, signal: never })).toEqual(all);
  expect(all.length).toBeGreaterThan(3);
});
