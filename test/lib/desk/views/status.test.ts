import { expect, test } from 'vitest';
import { linesOf } from '../../../../lib/desk/cli/print/view.ts';
import type { Group } from '../../../../lib/desk/messages/letters/groups.ts';
import type { Status } from '../../../../lib/desk/stage-state/status.ts';
import { pausedText } from '../../../../lib/desk/views/pause.ts';
import {
  blockedView,
  connectionNotes,
  needsSomebody,
  type OptionStatus,
  statusView,
  todoIn,
} from '../../../../lib/desk/views/status.ts';
import type { Block, Note, Step } from '../../../../lib/desk/views/view.ts';
import type { ConnectionReport } from '../../../../lib/stage/connection/check.ts';
import { compareDeployed } from '../../../../lib/stage/version.ts';
import { quietTerminal } from '../cli/typed.ts';

const report = (more: Partial<ConnectionReport>): ConnectionReport => ({
  platform: 'https://lms.example.edu',
  reachable: true,
  credentialAccepted: true,
  changes: { refused: 'no' },
  waitingFor: undefined,
  clockSkewSeconds: 1,
  budget: undefined,
  versions: [{ component: 'lp', version: '1.50', supported: true }],
  authorizationDays: undefined,
  scopes: undefined,
  problems: [],
  ...more,
});

test('a connection that is well has three notes, all good', () => {
  expect(connectionNotes(report({})).filter(Boolean)).toEqual([
    { tone: 'good', text: 'From this machine, the platform answers: https://lms.example.edu' },
    { tone: 'good', text: 'It accepts the service’s credential, and has not refused it for a change lately' },
    { tone: 'good', text: 'Versions in use: lp 1.50' },
  ]);
});

test('what is not well comes with what to do, and without control characters', () => {
  const refused = report({
    reachable: false,
    credentialAccepted: undefined,
    changes: undefined,
    clockSkewSeconds: -12,
    authorizationDays: -1,
    problems: [{ what: 'Refused\u001B[31m', remedy: 'Rotate\u0007it' }],
  });
  const steps = blockedView([], refused.problems) as Step[];
  const shownTexts = [
    ...connectionNotes(refused),
    ...steps.flatMap(({ step, next }) => [step, ...next]),
  ].filter(Boolean) as Note[];
  expect(shownTexts.map(({ tone, text }) => `${tone}: ${text}`)).toEqual([
    'bad: From this machine, the platform does not answer: https://lms.example.edu',
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
  cause: `${kind}-1`,
  function: 'grade-push',
  kind,
  error: 'It failed',
  words: [],
  remedy: 'Mend it.',
  letters,
  oldestMs: minutesAgo(60),
  newestMs: minutesAgo(3),
  grants: [],
  about: '',
  replayedOften: 0,
  ...more,
});

const statusWith = (groups: Group[], more: Partial<Status<OptionStatus>>): Status<OptionStatus> => {
  const letters = groups.reduce((sum, group) => sum + group.letters, 0);
  const counts = { visible: letters, inFlight: 0, delayed: 0 };
  return {
    queues: [],
    paused: [],
    waiting: [],
    atWork: [],
    unanswered: [],
    options: [],
    connection: report({}),
    pace: { window: 'none', calls: [], sinceMs: 0 },
    deployed: undefined,
    reach: undefined,
    expected: undefined,
    letters: { groups, counts, matching: letters, listed: letters, queued: letters },
    ...more,
  };
};

/** What is to be done first, as it is printed. */
const firstOf = (groups: Group[], more: Partial<Status<OptionStatus>> = {}): string[] => {
  const [first] = statusView(statusWith(groups, more));
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
])('of another version, %j, it is said first, with what to do', (noted, shownTexts) => {
  const own = { version: '1.1.0', commit: 'bbbbbbbbbb' };
  const lines = firstOf([], { deployed: compareDeployed(noted, own) });
  expect(lines.join('\n')).toMatch(shownTexts);
  expect(lines).toHaveLength(2);
  expect(firstOf([], { deployed: compareDeployed(own, own) })).toEqual(['✓ Nothing. All is well.']);
});

test('causes with one remedy are one entry, with all that wait for it, the last try and the command', () => {
  const what = 'The platform refuses the credential in the secret relay/service';
  const remedy = 'Put a valid credential into the secret relay/service.';
  const waits = {
    kind: 'credentials',
    error: what,
    remedy,
    due: 0,
    unknown: 0,
    nextMs: soonMs,
    attempts: 2,
    oldestMs: minutesAgo(20),
    lastMs: minutesAgo(2),
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
    function: 'submission-upload',
    kind: 'credentials',
    error: what,
    remedy,
    messages: 2,
    due: 0,
    unknown: 0,
    nextMs: soonMs,
    attempts: 2,
    oldestMs: minutesAgo(20),
    lastMs: minutesAgo(9),
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
    function: 'submission-upload',
    kind: 'credentials',
    error: whatOf(id),
    remedy: remedyOf(id),
    messages: 1,
    due: 0,
    unknown: 0,
    nextMs: soonMs,
    attempts: 2,
    secret: `relay/users/${id}`,
    oldestMs: minutesAgo(20),
    lastMs: minutesAgo(9),
  });
  const groupFor = (...ids: string[]) => ({ ...ofUser('<id>'), bySecret: ids.map(ofUser) });
  const lines = firstOf([], {
    waiting: [groupFor('301', '302'), { ...groupFor('303', '304'), mendedMs: minutesAgo(5) }],
  });
  expect(lines).toEqual([
    expect.stringContaining(`✗ ${whatOf('<id>')}. 1 message of submission-upload waits`),
    `→ ${remedyOf('<id>')}`,
    'Secrets to change:',
    '  relay/users/301',
    '  relay/users/302',
    expect.stringContaining('waiting wake --kind credentials --function submission-upload'),
    expect.stringContaining('→ The secrets of 2 refused credentials were changed 5 min ago: wake'),
    expect.stringContaining('waiting wake'),
  ]);
  const many = firstOf([], { waiting: [groupFor(...Array.from({ length: 51 }, (_, at) => `${301 + at}`))] });
  expect(many.slice(-3)).toEqual([
    '… and 41 more',
    expect.stringContaining('waiting wake'),
    'To list all: sis-relay waiting --json',
  ]);
});

test('a cause names the secrets that are missing', () => {
  const grants = Array.from({ length: 12 }, (_, at) => 301 + at).map((id) => `relay/users/${id}`);
  const about = 'All in org unit 2001; 12 users';
  expect(firstOf([groupOf('missing-credential', 5, { grants, about })])).toEqual([
    '✗ 5 letters of grade-push (missing-credential), the newest 3 min old: It failed',
    'All in org unit 2001; 12 users.',
    '→ Mend it.',
    'Secrets to create:',
    ...grants.slice(0, 10).map((each) => `  ${each}`),
    '… and 2 more',
    'To send again: sis-relay letters replay --cause missing-credential-1',
    'To list all: sis-relay letters groups --cause missing-credential-1 --json',
  ]);
});

test('what options tell comes before what operators have begun, and that before the letters', () => {
  const command = { id: 'a', command: 'letters replay', who: 'joe', why: undefined, filter: undefined };
  const about = { secret: undefined, file: undefined };
  const atWork = [
    {
      ...command,
      ...about,
      at: new Date(minutesAgo(4)).toISOString(),
      endedAt: undefined,
      counts: { planned: 5_000 },
    },
  ];
  const letters = {
    groups: [],
    matching: 0,
    listed: 0,
    queued: 2,
    counts: { visible: 2, inFlight: 0, delayed: 0 },
  };
  const options = ['one', 'another'].map((name) => ({
    facts: {},
    first: [{ tone: 'warn' as const, text: `${name} waits` }, { command: `${name} show` }],
    sections: [],
  }));
  expect(firstOf([], { options, atWork, letters })).toEqual([
    'one waits',
    'sis-relay one show',
    'another waits',
    'sis-relay another show',
    'letters replay by joe (5,000 planned) began 4 min ago and has not ended. It is at work, or was cut off',
    'To see whether it has ended: sis-relay status',
    'SQS counts about 2 letters, but the lists have 0. The lists are corrected every 15 minutes.',
    'To do it now: sis-relay letters reindex',
  ]);
});

test('smaller causes have a line each, and are counted', () => {
  const four = ['rejected', 'missing-scope', 'invalid', 'intercepted'].map((kind, at) =>
    groupOf(kind, 9 - at),
  );
  expect(firstOf(four.slice(0, 3)).join('\n')).not.toContain('more cause');
  expect(firstOf([...four, groupOf('uncertain', 2), groupOf('defect', 1)]).slice(-4)).toEqual([
    'And 2 more causes of 7 letters:',
    '  1 letter of grade-push (defect): It failed',
    '  6 letters of grade-push (intercepted): It failed',
    'All causes, and what to do: sis-relay letters groups',
  ]);
});

test('all that waits for a person can be woken in one step', () => {
  const [one, other] = [
    waitsOf({ kind: 'credentials', remedy: 'a' }),
    waitsOf({ kind: 'aws-refused', remedy: 'b' }),
  ];
  expect(firstOf([], { waiting: [one] }).join('\n')).not.toContain('To wake all');
  expect(firstOf([], { waiting: [one, other] }).at(-1)).toBe(
    'To wake all: sis-relay waiting wake --kind credentials,aws-refused',
  );
});

test('what heals by itself comes after what needs a person, though it is larger', () => {
  const shownTexts = firstOf([groupOf('throttled', 90), groupOf('rejected', 2), groupOf('defect', 1)]);
  const kinds = shownTexts.flatMap((line) => /letters? of grade-push \((\S+)\)/.exec(line)?.[1] ?? []);
  expect(kinds).toEqual(['rejected', 'defect', 'throttled']);
});

test('the users of two causes are not one number', () => {
  const about = 'All in org unit 2001; 12 users';
  const causes = ['a', 'b'].map((cause) => groupOf('uncertain', 12, { cause, about }));
  const [steps] = statusView(statusWith(causes, {}));
  expect(JSON.stringify(steps)).toContain('"whom":"2 causes, each 12 users in org unit 2001"');
});

test('a credential is not said to be accepted without more while messages wait as it was refused', () => {
  const secret = 'sis-relay/prod/service';
  const refused = waitsOf({ kind: 'credentials', error: 'refused', lastMs: minutesAgo(1) });
  const [, note] = connectionNotes(report({}), [{ ...refused, bySecret: [{ ...refused, secret }] }]);
  expect(note).toMatchObject({
    tone: 'unknown',
    text: expect.stringContaining('refused it to the functions 1 min ago'),
  });
});

test('one replay of all causes is offered before them, with what it leaves to people', () => {
  const [rejected, uncertain] = [groupOf('rejected', 3), groupOf('uncertain', 2)];
  const cause = ['✗ 3 letters of grade-push (rejected), the newest 3 min old: It failed', '→ Mend it.'];
  const decide = [
    '✗ 2 letters of grade-push: were they done? (uncertain)',
    'To look on the platform: sis-relay letters verify',
    'For those that stay unclear: sis-relay letters verify --reveal --reason "a look at the platform"',
  ];
  expect(firstOf([rejected, uncertain])).toEqual([
    ...decide,
    ...cause,
    'To send again: sis-relay letters replay --cause rejected-1',
  ]);
  const others = [groupOf('missing-scope', 4), groupOf('unknown-source', 1)];
  // No replay sends what its function refuses, and no look at the platform tells what is outdated.
  const left = [groupOf('invalid', 6), groupOf('outdated', 5)];
  expect(firstOf([rejected, uncertain, ...others, ...left]).slice(0, 11)).toEqual([
    ...decide,
    '✗ 5 letters of grade-push: is something newer there? (outdated)',
    'To see what to compare with the platform: sis-relay letters verify --kind outdated --reveal --reason "a look at the platform"',
    'If nothing newer is there, to send them: sis-relay letters replay --kind outdated --include-uncertain',
    'If something newer is there: sis-relay letters discard --kind outdated --reason <why>',
    '→ The quickest way, once the causes below are gone: one replay of 7 letters with 2 causes. Each cause is tried with a few letters first. It leaves 2 uncertain, 1 unknown-source, 6 invalid, 5 outdated to you.',
    'To replay all causes: sis-relay letters replay',
    ...cause,
  ]);
});

test('all is not said to be well where an option could not read something', () => {
  const options = [
    { facts: {}, first: [], sections: [], unknown: 'What became of imports could not be read.' },
  ];
  expect(firstOf([], { options })).toEqual([
    '? Nothing, as far as is known. What became of imports could not be read.',
  ]);
});

const reach = { atMs: minutesAgo(3), isReached: true, sinceMs: minutesAgo(600), what: '', remedy: '' };
const away = { ...reach, isReached: false, sinceMs: 0, what: 'no connection (UND_ERR_CONNECT_TIMEOUT)' };
const down = report({ reachable: false, problems: [{ what: 'no connection', remedy: 'Ask the platform.' }] });

test('what this machine sees is told apart from what the functions saw last', () => {
  const networks = '→ Ask the people who run the functions’ network to check subnets, NAT, firewall and DNS';
  expect(firstOf([], { reach: away }).join('\n')).toMatch(
    new RegExp(
      `^✗ The functions have not reached the platform since 1970-01-01 00:00 UTC, but this machine does: no connection .*\n${networks}`,
    ),
  );
  // A remedy of its own is said, too.
  expect(firstOf([], { reach: { ...away, remedy: 'Renew it.' } }).at(-1)).toMatch(
    /functions’ address\. Renew it\.$/,
  );
  const [first = '', todo = ''] = firstOf([], { reach, connection: down });
  expect([first, todo]).toEqual([
    expect.stringContaining('This machine does not reach the platform, but the functions do'),
    expect.stringContaining('Check the network of this machine'),
  ]);
  expect(firstOf([], { reach: away, connection: down })).toEqual(['✗ no connection', '→ Ask the platform.']);
  expect(firstOf([], { reach })).toEqual(['✓ Nothing. All is well.']);
  const silent = firstOf([], { reach: { ...reach, atMs: minutesAgo(100) } });
  expect(silent[0]).toContain('connection-check has reported nothing since');
});

test('a certificate that is out of date is somebody’s to mend, also if only the functions meet it', () => {
  const error = 'PUT /le/<id>: no connection, as the certificate is out of date (CERT_HAS_EXPIRED)';
  const waits = {
    function: 'grade-push',
    kind: 'unavailable',
    error,
    remedy: 'Have them renew it.',
    messages: 3,
    due: 0,
    unknown: 0,
    nextMs: soonMs,
    attempts: 2,
    oldestMs: minutesAgo(20),
    lastMs: minutesAgo(2),
  };
  expect(firstOf([], { waiting: [waits] }).slice(0, 2)).toEqual([
    expect.stringContaining('3 messages of grade-push wait for it (unavailable)'),
    '→ Have them renew it.',
  ]);
});

const waitsOf = (more: Partial<Status['waiting'][number]>): Status['waiting'][number] => ({
  function: 'grade-push',
  kind: 'unavailable',
  error: 'PUT /grades/<id>: 503 Service Unavailable',
  remedy: 'Do nothing at first.',
  messages: 3,
  due: 0,
  unknown: 0,
  nextMs: soonMs,
  attempts: 2,
  oldestMs: minutesAgo(40),
  lastMs: minutesAgo(2),
  ...more,
});

test('a part that is away for more than half an hour is something to do', () => {
  expect(firstOf([], { waiting: [waitsOf({ oldestMs: minutesAgo(20) })] })).toEqual([
    'Nothing: messages that wait continue by themselves.',
  ]);
  expect(firstOf([], { waiting: [waitsOf({})] })).toEqual([
    '✗ A part is away: PUT /grades/<id>: 503 Service Unavailable. 3 messages of grade-push wait for it (unavailable), the oldest for 40 min; last tried 2 min ago',
    '→ Ask the people who run it, and name this call and its answer. Messages that wait continue by themselves.',
    'One by one: sis-relay waiting --kind unavailable --function grade-push',
  ]);
  // That nothing answers is told once.
  expect(firstOf([], { waiting: [waitsOf({})], connection: down }).join()).not.toContain('A part is away');
});

test('all is not said to be well while a function has no answer and cannot record what waits', () => {
  const queues = [{ function: 'grade-push', visible: 0, inFlight: 1, delayed: 0, oldestMs: undefined }];
  const at = (...minutes: number[]) =>
    minutes.map((each) => ({ function: 'grade-push', atMs: minutesAgo(each), count: 1 }));
  const shownTexts =
    '✗ A part of the platform or of AWS does not answer grade-push. What waits for it could not be recorded';
  expect(firstOf([], { queues, unanswered: at(3) })[0]).toBe(shownTexts);
  const [steps] = statusView(statusWith([], { queues, unanswered: at(3, 8, 13) }));
  expect(JSON.stringify(steps)).toContain('"severity":"now"');
  // What is over is over, and what is recorded is told by its record.
  expect(firstOf([], { queues, unanswered: at(25) })).toEqual(['✓ Nothing. All is well.']);
  expect(firstOf([], { unanswered: at(3), waiting: [waitsOf({})] }).join()).not.toContain('recorded');
  expect(firstOf([], { queues, unanswered: undefined })[0]).toMatch(
    /^\? Nothing, as far as is known\. 1 message is in flight without a record/,
  );
  expect(firstOf([], { unanswered: undefined })).toEqual(['✓ Nothing. All is well.']);
});

test('what to do first is also data', () => {
  const typed = (command: string) => `sis-relay ${command} --stage prod`;
  expect(todoIn(statusWith([], {}), typed)).toEqual([]);
  expect(todoIn(statusWith([groupOf('rejected', 2)], { reach: away }), typed)).toEqual([
    {
      what: expect.stringContaining('The functions have not reached the platform'),
      todo: [expect.stringContaining('functions’ network')],
      commands: [],
    },
    {
      what: '2 letters of grade-push (rejected), the newest 3 min old: It failed',
      todo: ['Mend it.'],
      commands: ['sis-relay letters replay --cause rejected-1 --stage prod'],
    },
  ]);
});

test('an expired certificate is something to do today, as it heals with nobody', () => {
  const error = 'PUT /grades/<id>: no connection, as the certificate is out of date (CERT_HAS_EXPIRED)';
  const severities = (more: Partial<Group>) =>
    JSON.stringify(statusView(statusWith([groupOf('unavailable', 2, more)], {}))).match(
      /(?<="severity":")\w+/g,
    );
  expect(severities({ error })).toEqual(['today']);
  expect(severities({ error: '503 Service Unavailable' })).toEqual(['watch']);
});

test('a script hears whether a person must act today, and not of what heals by itself', () => {
  const needed = (...status: Parameters<typeof statusWith>) => needsSomebody(statusWith(...status));
  expect(needed([], {})).toBe(false);
  expect(needed([groupOf('unavailable', 2)], {})).toBe(false);
  expect(needed([groupOf('rejected', 2)], {})).toBe(true);
  expect(needed([], { reach: away })).toBe(true);
  // What is not known may need somebody.
  expect(needed([], { connection: undefined })).toBe(true);
  expect(needed([groupOf('unavailable', 2)], { connection: undefined })).toBe(true);
});

test('what is expected and has not come is among what to do first, and how old the look is', () => {
  const thing = { name: 'grade-push', hours: 4, lastMs: minutesAgo(300), isOverdue: true };
  const expected = { atMs: minutesAgo(120), things: [thing, { ...thing, name: 'a', isOverdue: false }] };
  expect(firstOf([], { expected })).toEqual([
    '✗ Nothing has come for grade-push for 5 h. Something must come within 4 expected hours',
    '→ Ask who runs the student information system.',
  ]);
});
