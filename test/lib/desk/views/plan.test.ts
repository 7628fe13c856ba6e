import { expect, test } from 'vitest';
import { linesOf } from '../../../../lib/desk/cli/print/view.ts';
import { shown } from '../../../../lib/desk/console/html/view.ts';
import type { Plan, PlannedGroup } from '../../../../lib/desk/messages/replay/plan.ts';
import type { ReplayCounts } from '../../../../lib/desk/messages/replay/run.ts';
import { filterOptions } from '../../../../lib/desk/views/filter-options.ts';
import { firstAction } from '../../../../lib/desk/views/letters.ts';
import { endNote, outcomesText, planView, resultNotes, resultView } from '../../../../lib/desk/views/plan.ts';
import type { ConnectionReport } from '../../../../lib/stage/connection/check.ts';
import { quietTerminal } from '../cli/typed.ts';

const group = (kind: string, letters: number): PlannedGroup => ({
  function: 'grade-push',
  kind,
  letters,
  cause: '0a1b2c3d',
  error: '400 Bad Request',
  words: [],
  remedy: `Remove what caused ${kind}.`,
  grants: [],
});

const facts = {
  at: '',
  matching: 1,
  oldestMs: 0,
  listed: 1,
  queued: 1,
  limitReached: false,
  unchecked: 0,
  replayedOften: 0,
};
const plan = (more: Partial<Plan>): Plan => ({
  ...facts,
  send: [],
  notYet: [],
  uncertain: [],
  notChecked: [],
  unknownSource: 0,
  ...more,
});
const printed = (...given: Parameters<typeof planView>): string[] =>
  linesOf(planView(...given), { ...quietTerminal, width: 200 });

test('a plan has a section for each reason why letters cannot succeed yet', () => {
  const blocked = { why: 'The token lacks a:b:c', todo: 'Grant\u001B[31m it' };
  const notYet = [
    { ...group('missing-scope', 2), ...blocked },
    { ...group('missing-scope', 3), ...blocked },
    { ...group('credentials', 4), why: 'The key is refused', todo: 'Rotate it' },
  ];
  const lines = printed(plan({ notYet }), undefined);
  expect(lines.filter((line) => !/^Letters|rejected|0a1b2c3d/.test(line)).slice(2, 9)).toEqual([
    '5 cannot succeed yet, and stay where they are',
    'The token lacks a:b:c',
    '→ Grant it',
    '',
    '4 cannot succeed yet, and stay where they are',
    'The key is refused',
    '→ Rotate it',
  ]);
});

test('what needs a decision says what sends it and nothing else, and what is not from here is only counted', () => {
  const uncertain = [group('uncertain', 2), { ...group('outdated', 1), cause: '9f8e7d6c' }];
  const lines = printed(plan({ uncertain, unknownSource: 7 }), undefined);
  expect(lines.filter((line) => line.includes('sis-relay '))).toEqual([
    'To look: sis-relay letters verify --cause 0a1b2c3d',
    'Once those that were done are discarded: sis-relay letters replay --cause 0a1b2c3d --include-uncertain',
    'To look: sis-relay letters verify --cause 9f8e7d6c --reveal --reason "a look at the platform"',
    'Once those that something newer has replaced are discarded: sis-relay letters replay --cause 9f8e7d6c --include-uncertain',
    'Which they are, and what to do: sis-relay letters groups --kind unknown-source',
  ]);
  expect(lines).toContain('7 are not from this deployment: they have no queue to go to');
  const html = String(shown(planView(plan({ uncertain, unknownSource: 7 }), undefined)));
  expect(html).toContain('7 are not from this deployment: they have no queue to go to');
  expect(html).toContain('href="/uncertain?kind=outdated"');
});

test('what is invalid is not sent, and leads to its correction', () => {
  const notYet = [{ ...group('invalid', 3), why: 'refused', todo: 'Correct it.' }];
  const shownPlan = planView(plan({ notYet }), undefined);
  expect(String(shown(shownPlan))).toContain('href="/edit?cause=0a1b2c3d">Edit 3 letters of grade-push<');
  expect(String(shown(shownPlan, { as: 'read-only' }))).not.toContain('/edit');
  // So does each such letter and cause, before a replay.
  const first = (kind: string) =>
    firstAction({ kind, error: '' }, { cause: '0a1b2c3d' }).map((block) => Object.keys(block || {})[0]);
  expect([first('invalid'), first('rejected')]).toEqual([
    ['lead', 'lead', 'links'],
    ['lead', 'action'],
  ]);
});

test('a body without fields is corrected in an editor, which opens one letter', () => {
  const first = (error: string, letters: number) =>
    firstAction({ kind: 'invalid', error, letters }, { cause: '0a1b2c3d' })[0];
  expect(first('the body is not JSON', 1)).toEqual({
    lead: 'To correct it in your editor and send it',
    command: 'letters edit --cause 0a1b2c3d --reason <why>',
  });
  expect(first('the body is not JSON', 2)).toMatchObject({ command: 'letters list --cause 0a1b2c3d' });
  expect(first('data.roleId: is missing', 2)).toMatchObject({
    command: 'letters edit --cause 0a1b2c3d --set data.roleId=<value> --reason <why>',
  });
});

test('a name that the crosswalk lacks is looked up before its letters are sent, in a crosswalk that has names', () => {
  const steps = (field: string, ...fills: string[]) =>
    firstAction(
      {
        kind: 'unknown-id',
        error: `The crosswalk does not know this data.${field}. It has names from the platform’s list (${fills[0]}) and from the university’s file (${fills[1]})`,
      },
      { cause: '0a1b2c3d' },
    );
  const commands = (...of: Parameters<typeof steps>) =>
    steps(...of).flatMap((each) => (each && 'command' in each ? each.command : []));
  const [never, today] = ['never filled', 'last filled 2026-11-28T02:10Z'];
  const sent = 'letters replay --cause 0a1b2c3d';
  expect(commands('orgUnitCode', never, never)).toEqual([
    'crosswalk fill',
    'crosswalk show --code <name>',
    sent,
  ]);
  // The platform's list of org units has no users.
  expect(commands('userName', never, never)[0]).toBe('crosswalk fill --classlists');
  expect(commands('orgUnitCode', today, never)).toEqual(['crosswalk show --code <name>', sent]);
  expect(commands('userName', never, today)).toEqual(['crosswalk show --user-name <name>', sent]);
  const inBrowser = (...of: Parameters<typeof steps>) =>
    steps(...of).filter((each) => each && ('links' in each || 'action' in each));
  // A person's name is in no address.
  const lookUp = { links: [{ to: '/crosswalk?cause=0a1b2c3d' }] };
  expect(inBrowser('userName', never, never)).toMatchObject([
    { action: '/crosswalk-fill', hidden: { classlists: 'yes' } },
    lookUp,
    { action: '/replay' },
  ]);
  expect(inBrowser('userName', never, today)[0]).toMatchObject(lookUp);
});

test('what is outdated is compared, then sent or discarded', () => {
  const commands = firstAction({ kind: 'outdated', error: '' }, { cause: '0a1b2c3d' }).flatMap((each) =>
    each && 'command' in each ? each.command : [],
  );
  expect(commands).toEqual([
    'letters verify --cause 0a1b2c3d --reveal --reason "a look at the platform"',
    'letters replay --cause 0a1b2c3d --include-uncertain',
    'letters discard --cause 0a1b2c3d --reason <why>',
  ]);
});

test('what all letters lack may be set in all of them', () => {
  const error = 'The message is not valid: data.grade: must be an object';
  const shownPlan = firstAction({ kind: 'invalid', error, letters: 300 }, { cause: '0a1b2c3d' });
  expect(shownPlan[0]).toMatchObject({ command: expect.stringContaining('--set data.grade=<value> ') });
  // An object is set by its parts.
  const parts = ['data.grade.type=numeric', 'data.grade.points=<value>'];
  const [set] = firstAction({ kind: 'invalid', error, letters: 300, parts }, { cause: '0a1b2c3d' });
  expect(set).toMatchObject({
    command:
      'letters edit --cause 0a1b2c3d --set data.grade.type=numeric --set data.grade.points=<value> --reason <why>',
  });
});

test('what is each learner’s own is not offered to be set in many letters at once', () => {
  const first = (error: string, letters: number) =>
    JSON.stringify(firstAction({ kind: 'invalid', error, letters }, { cause: '0a1b2c3d' }));
  for (const error of ['data.grade.points: is text', 'data.userId: is missing', 'it is too long']) {
    expect(first(error, 1)).toContain('letters edit --cause 0a1b2c3d --set ');
    expect(first(error, 2)).not.toMatch(/--set|\/edit/);
    expect(first(error, 2)).toContain('letters list --cause 0a1b2c3d');
  }
});

test('a plan says at each cause what must be done before, with all its secrets, and nothing of what ends by itself', () => {
  const secrets = ['sis-relay/users/9', 'sis-relay/users/10'];
  const expired = 'PUT /grades/<id>: no connection, as the certificate is out of date (CERT_HAS_EXPIRED)';
  const send = [
    { ...group('rejected', 3), remedy: 'Create it.' },
    group('throttled', 1),
    { ...group('unavailable', 1), error: expired, remedy: 'Renew the certificate.' },
  ];
  const notYet = [
    {
      ...group('missing-credential', 2),
      remedy: 'Create <id>.',
      grants: secrets,
      why: 'x',
      todo: 'Create <id>.',
    },
  ];
  const lines = printed(plan({ send, notYet }), undefined).map((line) => line.trim());
  expect(lines).toEqual(
    expect.arrayContaining([
      'Before you agree, check that the cause of each is gone, as its row says.',
      '→ Create it.',
      '→ Renew the certificate.',
      'Secrets to create:',
      ...secrets,
    ]),
  );
  expect(lines.join()).not.toContain('caused throttled');
  const agreed = printed(plan({ send, notYet }), undefined, { isAgreed: true }).join();
  expect(agreed).not.toMatch(/Before you agree|Create it/);
  expect(agreed).toContain('sis-relay/users/10');
});

const report = (reachable: boolean) => ({ reachable, problems: [] }) as unknown as ConnectionReport;

test('what the probe cannot tell is said only where it reached the platform', () => {
  const send = [group('missing-permission', 1)];
  const saysSo = (reachable: boolean) =>
    printed(plan({ send }), report(reachable)).join().includes('The probe cannot tell');
  expect([saysSo(true), saysSo(false)]).toEqual([true, false]);
});

test('what was not checked has a section of its own, and is in no other number', () => {
  const notChecked = [group('invalid', 300), group('missing-credential', 20)];
  const view = planView(plan({ send: [group('rejected', 9)], notChecked, unchecked: 320 }), undefined);
  const lines = linesOf(view, { ...quietTerminal, width: 200 });
  expect(lines).toEqual(
    expect.arrayContaining([
      '9 will be sent',
      '320 are not checked yet, and stay where they are',
      'To check all of them: sis-relay letters replay --kind invalid,missing-credential',
    ]),
  );
  const html = String(shown(view));
  expect(html).toContain('Check 320 letters');
  expect(html.replace('Check 320 letters', '')).not.toMatch(/<button[^>]*>[^<]*\d/);
});

test('a plan without a probe says that nothing was asked, and asks for no address of the platform', () => {
  const notChecked = [group('missing-credential', 20)];
  const shownPlan = printed(plan({ notChecked, unchecked: 20 }), 'not asked').join('\n');
  expect(shownPlan).toContain('The platform was not asked. The canary will show what still fails.');
  expect(shownPlan).not.toContain('PLATFORM_URL');
});

test('a plan of a machine that does not reach the platform says what was not checked, and that the functions reach it', () => {
  const away = { reachable: false, problems: [{ what: 'No answer', remedy: 'Check your network' }] };
  const send = [group('missing-credential', 2)];
  const shownPlan = (more: object) =>
    printed(plan({ send }), { ...away, ...more } as unknown as ConnectionReport).join('\n');
  expect(shownPlan({ functionsReachedMs: Date.now() - 180_000 })).toContain(
    'The platform does not answer this machine, but answered the functions 3 min ago. Not checked: ',
  );
  expect(shownPlan({})).toContain('✗ No answer');
});

test('a function that is paused is told with the letters that would wait, and how it is resumed', () => {
  const paused = { function: 'grade-push', state: 'Disabled', sinceMs: 0, who: 'jane', reason: 'a move' };
  const view = (...more: (typeof paused)[]) =>
    printed(plan({ send: [group('rejected', 1)] }), undefined, { paused: more });
  expect(view(paused)).toEqual(
    expect.arrayContaining([
      '✗ grade-push is paused (Disabled) since 1970-01-01 00:00 UTC by jane: a move',
      'To resume: sis-relay resume grade-push',
      'The letters of grade-push would wait on its queue, and have no outcome until it is resumed.',
    ]),
  );
  // A record of a pause that is over holds nothing back.
  expect(view({ ...paused, state: 'Enabled' })).toEqual(view());
});

const counts: ReplayCounts = {
  sent: 3,
  through: 3,
  cameBack: 0,
  waits: 0,
  unknown: 0,
  setAside: 0,
  notTried: 0,
  byCause: [],
  cameBackAs: [],
  waitFor: [],
  gone: 0,
  stillInvalid: 0,
  failed: [],
  undeleted: [],
};

test.each([
  [{ counts }, 'good', 'Done.'],
  [{ counts: { ...counts, through: 2, cameBack: 1 } }, 'warn', 'Ended. Not all letters went through.'],
  [{ counts: { ...counts, gone: 1 } }, 'warn', 'Ended. Not all letters went through.'],
  [{ counts, stoppedBecause: 'it was\u0007 interrupted' }, 'bad', 'Stopped: it was  interrupted.'],
])('a replay ends well only where all went through: %#', (ended, tone, text) => {
  expect(endNote(ended)).toEqual({ tone, text });
});

test('a result tells what there is to tell, with the number of letters', () => {
  expect(resultNotes({ counts })).toEqual([]);
  expect(resultNotes({ counts: { ...counts, stillInvalid: 2 }, backLater: 1 })).toEqual([
    {
      tone: 'warn',
      text: '2 letters were not sent, because their functions would still refuse them',
      command: 'letters groups --kind invalid',
    },
    { tone: 'plain', text: '1 letter becomes visible again by itself when its lease ends' },
  ]);
});

test('a result begins with the causes of which something did not go through', () => {
  const cause = {
    cause: 'a',
    function: 'grade-push',
    kind: 'rejected',
    error: 'x',
    words: [],
    sent: 9,
    through: 9,
  };
  const well = { ...cause, cameBack: 0, waits: 0, unknown: 0, setAside: 0, notTried: 0 };
  const byCause = [
    well,
    { ...well, cause: 'b', sent: 1, through: 0, cameBack: 1 },
  ] as ReplayCounts['byCause'];
  const shownPlan = JSON.stringify(resultView({ ended: 'done', counts: { ...counts, byCause } }));
  expect(shownPlan.indexOf('"text":"b"')).toBeLessThan(shownPlan.indexOf('"text":"a"'));
});

test('a run at work tells its outcomes, and how long the rest takes', () => {
  const more = { sent: 9, through: 5, cameBack: 2, waits: 1, unknown: 1, notTried: 600 };
  expect(outcomesText({ ...counts, ...more }, { rate: 5 })).toBe(
    'Of 9 sent, 5 went through, 2 came back, 1 waits, 1 has no outcome yet; 600 were not sent yet (2 min).',
  );
});

test('what had no outcome when a person stopped the run is not put down to the function', () => {
  const cause = { ...group('rejected', 1), ...counts, unknown: 1, sent: 1 };
  const toldOf = (stoppedBecause?: string) =>
    JSON.stringify(
      resultView({ counts: { ...counts, byCause: [cause] }, ended: 'stopped', stoppedBecause, backLater: 0 }),
    );
  expect(toldOf('it was interrupted')).toContain('had no outcome yet when the run stopped');
  expect(toldOf('it was interrupted')).not.toContain('paused');
  expect(toldOf()).toContain('it may be paused');
});

test('a result says how the number of the plan became its own, and has one command for each thing to do', () => {
  const ids = ['0a1b2c3d', '1a2b3c4d', '2a3b4c5d'];
  const none = { ...group('rejected', 3), ...counts, sent: 0, through: 0 };
  const more = { sent: 10, through: 10, setAside: 6, notTried: 6, gone: 1 };
  const view = resultView(
    {
      counts: {
        ...counts,
        ...more,
        byCause: [
          ...ids.map((cause) => ({ ...none, cause, notTried: 2 })),
          ...ids.map((cause) => ({ ...none, cause: `${cause.slice(0, 7)}e`, setAside: 2 })),
        ],
      },
      ended: 'stopped',
      stoppedBecause: 'it was interrupted',
    },
    'letters replay --function grade-push',
  );
  const lines = linesOf(view, { ...quietTerminal, width: 200 });
  expect(lines).toContain(
    'Of 23 letters in the plan, 10 were sent; 6 were set aside, because the canary of their cause failed, 6 were not tried, 1 was gone.',
  );
  expect(lines.filter((line) => line.includes('sis-relay '))).toEqual([
    'What to do about them: sis-relay letters groups --cause 0a1b2c3e,1a2b3c4e,2a3b4c5e',
    'To send the 6 that were not tried: sis-relay letters replay --function grade-push',
  ]);
});

test('a filter is shown as the options that select the same', () => {
  const filter = {
    kind: ['rejected' as const],
    cause: ['1f2e3d4c', '5a6b7c8d'],
    since: 0,
    error: 'not found',
    minReplays: 2,
  };
  expect(filterOptions(filter)).toBe(
    "--kind rejected --cause 1f2e3d4c,5a6b7c8d --since 1970-01-01T00:00:00.000Z --error 'not found' --min-replays 2",
  );
});
