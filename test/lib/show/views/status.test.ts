import { expect, test } from 'vitest';
import type { Group } from '../../../../lib/operate/messages/letters/groups.ts';
import type { Status } from '../../../../lib/operate/reviews/status.ts';
import type { ConnectionReport } from '../../../../lib/operate/stage/connection/check.ts';
import { compareDeployed } from '../../../../lib/operate/stage/version.ts';
import { linesOf } from '../../../../lib/show/cli/print/view.ts';
import { pausedText } from '../../../../lib/show/views/pause.ts';
import { blockedView, connectionNotes, statusView } from '../../../../lib/show/views/status.ts';
import type { Block, Note } from '../../../../lib/show/views/view.ts';
import { recordOf } from '../../../options/snapshots/desk/waiting-import.ts';
import { quietTerminal } from '../cli/typed.ts';

const report = (more: Partial<ConnectionReport>): ConnectionReport => ({
  ...{ platform: 'https://lms.example.edu', reachable: true, credentialAccepted: true },
  ...{ changes: { refused: 'no' }, waitingFor: undefined, clockSkewSeconds: 1, budget: undefined },
  versions: [{ component: 'lp', version: '1.50', supported: true }],
  ...{ authorizationDays: undefined, scopes: undefined, problems: [], ...more },
});

test('a connection that is well has three notes, all good', () => {
  expect(connectionNotes(report({})).filter(Boolean)).toEqual([
    { tone: 'good', text: 'The platform answers: https://lms.example.edu' },
    { tone: 'good', text: 'It accepts the service’s credential, and has not refused it for a change lately' },
    { tone: 'good', text: 'Versions in use: lp 1.50' },
  ]);
});

test('what is not well comes with what to do, and without control characters', () => {
  const refused = report({
    ...{ reachable: false, credentialAccepted: undefined, changes: undefined },
    ...{ clockSkewSeconds: -12, authorizationDays: -1 },
    problems: [{ what: 'Refused\u001B[31m', remedy: 'Rotate\u0007it' }],
  });
  const told = [...connectionNotes(refused), ...blockedView([], refused.problems)] as Note[];
  expect(told.map(({ tone, text }) => `${tone}: ${text}`)).toEqual([
    'bad: The platform does not answer: https://lms.example.edu',
    'unknown: It is not known whether it accepts the service’s credential',
    'good: Versions in use: lp 1.50',
    'plain: Its clock is 12 s behind ours',
    'plain: A person must authorize again in 0 days',
    'bad: Refused',
    'todo: Rotate it',
  ]);
});

test('a platform that was not asked is one note', () => {
  expect(connectionNotes(undefined)).toMatchObject([{ tone: 'plain' }]);
});

test('who has paused a function, and why, is printed without control characters', () => {
  const paused = {
    function: 'grade-push',
    state: 'Disabled',
    sinceMs: 0,
    who: 'jane',
    reason: 'a\u0007b',
  };
  expect(pausedText(paused)).toBe('grade-push is paused (Disabled) since 1970-01-01 00:00 UTC by jane: a b');
});

const soonMs = Date.now() + 600_000;
const minutesAgo = (minutes: number): number => Date.now() - minutes * 60_000 - 100;
const groupOf = (kind: string, letters: number, more: Partial<Group> = {}): Group => ({
  ...{ cause: `${kind}-1`, function: 'grade-push', kind, error: 'It failed', words: [], remedy: 'Mend it.' },
  ...{ letters, oldestMs: minutesAgo(60), newestMs: minutesAgo(3), grants: [], replayedOften: 0, ...more },
});

/** What is to be done first, as it is printed. */
const firstOf = (groups: Group[], more: Partial<Status> = {}): string[] => {
  const letters = groups.reduce((sum, group) => sum + group.letters, 0);
  const counts = { visible: letters, inFlight: 0, delayed: 0 };
  const [first] = statusView({
    ...{ queues: [], paused: [], waiting: [], held: [], passed: [], atWork: [], snapshots: [] },
    ...{ waitingFiles: [], troubledImports: [], quietFeeds: [] },
    ...{ comparison: undefined, comparing: undefined, connection: report({}) },
    pace: { window: 'none', calls: [], sinceMs: 0 },
    deployed: undefined,
    letters: { groups, counts, matching: letters, listed: letters, queued: letters },
    ...more,
  });
  return linesOf([first as Block], { ...quietTerminal, width: 1_000 }).slice(1);
};

test('all is well, and says so, where there is nothing to do', () => {
  expect(firstOf([])).toEqual(['✓ Nothing. All is well.']);
});

test.each([
  [{ version: undefined, commit: undefined }, /does not state its version.*Deploy a release again/s],
  [
    { version: '1.0.0', commit: 'aaaaaaaaaa' },
    /What is deployed, 1\.0\.0 \(aaaaaaaaaa\), is older than this command, 1\.1\.0 \(bbbbbbbbbb\).*serverless deploy/s,
  ],
  [{ version: '1.2.0', commit: undefined }, /What is deployed, 1\.2\.0, is newer than .*git pull/s],
  [{ version: '1.1.0', commit: 'cccccccccc' }, /is on another branch than .*who deployed it/s],
])('of another version, %j, it is said first, with what to do', (noted, told) => {
  const own = { version: '1.1.0', commit: 'bbbbbbbbbb' };
  const lines = firstOf([], { deployed: compareDeployed(noted, own) });
  expect(lines.join('\n')).toMatch(told);
  expect(lines).toHaveLength(2);
  expect(firstOf([], { deployed: compareDeployed(own, own) })).toEqual(['✓ Nothing. All is well.']);
});

test('causes with one remedy are one entry, with all that wait for it, the last try and the command', () => {
  const what = 'The platform refuses the credential in the secret relay/service';
  const remedy = 'Put a valid credential into the secret relay/service.';
  const waits = {
    ...{ kind: 'credentials', error: what, remedy, due: 0, unknown: 0, nextMs: soonMs, attempts: 2 },
    ...{ oldestMs: minutesAgo(20), lastMs: minutesAgo(2) },
  };
  const waiting = [
    { ...waits, function: 'grade-push', messages: 3 },
    { ...waits, function: 'enrollment-create', messages: 1, lastMs: minutesAgo(1) },
    // What heals by itself is nothing to do.
    { ...waits, function: 'grade-push', kind: 'throttled', messages: 9, remedy: 'Do nothing.' },
  ];
  const connection = report({ problems: [{ what, remedy }] });
  expect(firstOf([], { waiting, connection })).toEqual([
    `✗ ${what}. 4 messages of grade-push, enrollment-create wait for it (credentials), the oldest for 20 min; last tried 1 min ago`,
    `→ ${remedy}`,
    'Once the cause is gone: sis-relay waiting wake --kind credentials --function grade-push enrollment-create',
  ]);
});

test('a secret that was changed after the last try needs nothing more: what waits for it is woken', () => {
  const what = 'The platform refuses the credential in the secret relay/users/301';
  const remedy = 'Put a valid credential into the secret relay/users/301.';
  const waits = {
    ...{ function: 'submission-upload', kind: 'credentials', error: what, remedy, messages: 2, due: 0 },
    ...{ unknown: 0, nextMs: soonMs, attempts: 2, oldestMs: minutesAgo(20), lastMs: minutesAgo(9) },
  };
  expect(firstOf([], { waiting: [{ ...waits, mendedMs: minutesAgo(5) }] })).toEqual([
    '→ The secret of a refused credential was changed 5 min ago: wake what waits for it. 2 messages of submission-upload wait for it (credentials), the oldest for 20 min; last tried 9 min ago',
    'sis-relay waiting wake --kind credentials --function submission-upload',
  ]);
  // What its queue does not hide is not to be woken.
  expect(
    firstOf([], { waiting: [{ ...waits, due: 2, nextMs: undefined, mendedMs: minutesAgo(5) }] }),
  ).toEqual([
    expect.stringMatching(/^The secret .* was changed 5 min ago\. What waits for it is due\. 2 messages/),
  ]);
  expect(
    firstOf([], { waiting: [{ ...waits, unknown: 2, nextMs: undefined, mendedMs: minutesAgo(5) }] }),
  ).toEqual([expect.stringContaining('It is not known whether anything still waits for it. 2 messages')]);
  // One of two is not put right, or the probe still meets it.
  const waiting = [{ ...waits, mendedMs: minutesAgo(5) }, waits];
  expect(firstOf([], { waiting })).toContain(`→ ${remedy}`);
  const connection = report({ problems: [{ what, remedy }] });
  expect(firstOf([], { waiting: waiting.slice(0, 1), connection })).toContain(`→ ${remedy}`);
});

test('of several refused credentials each secret is named until it is changed', () => {
  const remedyOf = (id: string) => `Put a valid credential into the secret relay/users/${id}.`;
  const whatOf = (id: string) => `The platform refuses the credential in the secret relay/users/${id}`;
  const ofUser = (id: string) => ({
    ...{ function: 'submission-upload', kind: 'credentials', error: whatOf(id), remedy: remedyOf(id) },
    ...{ messages: 1, due: 0, unknown: 0, nextMs: soonMs, attempts: 2, secret: `relay/users/${id}` },
    ...{ oldestMs: minutesAgo(20), lastMs: minutesAgo(9) },
  });
  const groupFor = (...ids: string[]) => ({ ...ofUser('<id>'), bySecret: ids.map(ofUser) });
  const lines = firstOf([], {
    waiting: [groupFor('301', '302'), { ...groupFor('303', '304'), mendedMs: minutesAgo(5) }],
  });
  expect(lines).toEqual([
    expect.stringContaining(`✗ ${whatOf('<id>')}. 1 message of submission-upload waits`),
    `→ ${remedyOf('<id>')}`,
    ...['Secrets to change:', '  relay/users/301', '  relay/users/302'],
    expect.stringContaining('waiting wake --kind credentials --function submission-upload'),
    expect.stringContaining('→ The secrets of 2 refused credentials were changed 5 min ago: wake'),
    expect.stringContaining('waiting wake'),
  ]);
  const many = firstOf([], { waiting: [groupFor(...Array.from({ length: 51 }, (_, at) => `${301 + at}`))] });
  expect(many.slice(-3)).toEqual([
    '… and 1 more',
    expect.stringContaining('waiting wake'),
    'To list all: sis-relay waiting --json',
  ]);
});

test('a cause names the secrets that are missing', () => {
  const grants = Array.from({ length: 12 }, (_, at) => 301 + at).map((id) => `relay/users/${id}`);
  expect(firstOf([groupOf('missing-credential', 5, { grants })])).toEqual([
    '✗ 5 letters of grade-push (missing-credential), the newest 3 min old: It failed',
    '→ Mend it.',
    ...['Secrets to create:', ...grants.slice(0, 10).map((each) => `  ${each}`)],
    '… and 2 more',
    'To send again: sis-relay letters replay --cause missing-credential-1',
    'To list all: sis-relay letters groups --cause missing-credential-1',
  ]);
});

test('what is held, waits for a person or is at work is told with its age and its command', () => {
  const droppedAt = new Date(minutesAgo(30)).toISOString();
  const snapshots = [
    recordOf({ id: 'waits', droppedAt, state: 'waiting-for-approval', why: '6.2 % would be removed' }),
    recordOf({ id: 'runs', droppedAt, state: 'sending' }),
  ];
  const held = ['userName', 'orgDefinedId'].map((kind) => ({
    ...{ of: `${kind}/file`, problem: 'crosswalk/users.csv is empty', sinceMs: minutesAgo(40) },
  }));
  const command = { id: 'a', command: 'letters replay', who: 'joe', why: undefined, filter: undefined };
  const atWork = [
    { ...command, at: new Date(minutesAgo(4)).toISOString(), endedAt: undefined, counts: { planned: 5_000 } },
  ];
  const letters = {
    groups: [],
    matching: 0,
    listed: 0,
    queued: 2,
    counts: { visible: 2, inFlight: 0, delayed: 0 },
  };
  const passed = [2, 3].map((enrollments) => ({
    ...{ name: `u${enrollments}`, userId: 301, record: 'u-2', sinceMs: minutesAgo(50), enrollments },
    ...{ results: 1, courses: ['BIO-1', `ART-${enrollments}`] },
  }));
  expect(firstOf([], { snapshots, held, passed, atWork, letters })).toEqual([
    'The crosswalk keeps what it had, for 40 min: crosswalk/users.csv is empty',
    '→ Correct the source: the next fill takes it.',
    'To take it at once: sis-relay crosswalk fill',
    '2 user names have passed to another record of the SIS, and the crosswalk still gives the former account, for 50 min: 5 enrollments and 2 results in 3 courses wait',
    'sis-relay crosswalk moved',
    'Snapshot waits, dropped 30 min ago, waits for approval: 6.2 % would be removed',
    'sis-relay snapshots show waits',
    'Snapshot runs, dropped 30 min ago, is being sent.',
    'sis-relay snapshots show runs',
    'letters replay by joe (5,000 planned) began 4 min ago and has not ended. It is at work, or was cut off',
    'To see whether it has ended: sis-relay status',
    'SQS counts about 2 letters, but the lists have 0. The lists are corrected every 15 minutes.',
    'To do it now: sis-relay letters reindex',
  ]);
});

test('smaller causes are not told, but counted', () => {
  const four = ['rejected', 'missing-scope', 'invalid', 'intercepted'].map((kind, at) =>
    groupOf(kind, 9 - at),
  );
  expect(firstOf(four.slice(0, 3)).join('\n')).not.toContain('more cause');
  expect(firstOf([...four, groupOf('uncertain', 2), groupOf('defect', 1)]).slice(-2)).toEqual([
    'And 2 more causes of 7 letters.',
    'All causes, and what to do: sis-relay letters groups',
  ]);
});

test('one replay of all causes is offered before them, with what it leaves to people', () => {
  const [rejected, uncertain] = [groupOf('rejected', 3), groupOf('uncertain', 2)];
  const cause = ['✗ 3 letters of grade-push (rejected), the newest 3 min old: It failed', '→ Mend it.'];
  const decide = [
    '✗ 2 letters need your decision',
    'To look on the platform: sis-relay letters verify',
    'For those that stay unclear: sis-relay letters verify --reveal --reason "a look at the platform"',
  ];
  expect(firstOf([rejected, uncertain])).toEqual([
    ...[...decide, ...cause],
    'To send again: sis-relay letters replay --cause rejected-1',
  ]);
  const others = [groupOf('missing-scope', 4), groupOf('unknown-source', 1)];
  // No replay sends what its function refuses, and no look at the platform tells what is outdated.
  const left = [groupOf('invalid', 6), groupOf('outdated', 5)];
  expect(firstOf([rejected, uncertain, ...others, ...left]).slice(0, 9)).toEqual([
    ...decide,
    '✗ 5 letters need your decision: something newer may have been done since (outdated)',
    'To compare with what the platform holds: sis-relay letters list --kind outdated',
    '→ The quickest way, once the causes below are gone: one replay of 7 letters with 2 causes. Each cause is tried with a few letters first. It leaves 2 uncertain, 1 unknown-source, 6 invalid, 5 outdated to you.',
    'To replay all causes: sis-relay letters replay',
    ...cause,
  ]);
});

test('an import that failed is said first, whatever else there is to do, with why and the command; then what waits behind another', () => {
  const key = 'snapshots/nightly.zip';
  const putAt = new Date(minutesAgo(5)).toISOString();
  const troubledImports: Status['troubledImports'] = [
    { ...{ key, putAt }, versionId: 'v1', id: 'an-id', is: 'failed', why: 'The file is not a zip' },
    { key: 'snapshots/a.csv', putAt, is: 'cut off' },
  ];
  const waitingFiles = [1, 2, 3, 4].map((at) => ({ ...{ key, putAt, sizeBytes: at }, behind: 'an-id' }));
  expect(firstOf([], { troubledImports, waitingFiles })).toEqual([
    '✗ The import of snapshots/nightly.zip, version v1, put 5 min ago, failed: The file is not a zip',
    '→ Correct what it names, and put the file into the bucket again, or a newer export',
    'sis-relay snapshots show an-id',
    '✗ The import of snapshots/a.csv, put 5 min ago, ended without a result: its execution was stopped, or its time ended',
    '→ Put the file into the bucket again, or a newer export',
    'sis-relay snapshots list',
    ...['1 byte', '2 bytes', '3 bytes'].map((size) => `${key}, ${size}, put 5 min ago, waits behind an-id`),
    'And 1 more file waits.',
    'sis-relay snapshots list',
  ]);
});

test('files that have not come for long are information, unless they hold something back; those of one pattern are ended together', () => {
  const droppedAt = new Date(Date.now() - 20 * 86_400_000 - 100).toISOString();
  const quiet = { name: 'last term.csv', id: 'an-id', droppedAt, heldBack: 0 };
  expect(firstOf([], { quietFeeds: [quiet] })).toEqual(['✓ Nothing. All is well.']);
  const once = { ...quiet, pattern: 'backfill-*.csv' };
  const backfills = ['backfill-1.csv', 'backfill-2.csv'].map((name) => ({ ...once, name, heldBack: 1 }));
  expect(firstOf([], { quietFeeds: [{ ...quiet, heldBack: 1_200 }, ...backfills] })).toEqual([
    "last term.csv came 20 d ago, and others have come since. 1,200 enrollments that other files have no more are kept, until it comes again or is ended by `sis-relay snapshots end 'last term.csv'`",
    "2 files of backfill-*.csv came 20 d ago, once, by the settings. 2 enrollments that other files have no more are kept, until they are ended by `sis-relay snapshots end 'backfill-*.csv'`",
  ]);
});

test('all is not said to be well where the imports are unknown', () => {
  expect(firstOf([], { troubledImports: undefined })).toEqual([
    '? Nothing, as far as is known. What became of imports could not be read.',
  ]);
});
