import { expect, test } from 'vitest';
import { discardLetters } from '../../../../../lib/desk/messages/archive/discard.ts';
import { createAudit } from '../../../../../lib/stage/audit.ts';
import { eventBody, never, officesForTests } from '../../cli/office.ts';
import { editAt } from '../../messages/operator.ts';
import { openConsole } from '../attacker.ts';

const offices = officesForTests();

test('the address of a letter that was dealt with shows what became of it, and who did it', async () => {
  const office = await offices.open();
  const [one = '', other = ''] = await office.park([{}, {}]);
  await discardLetters(
    { ...office.target, who: 'jane' },
    {
      filter: { id: [one] },
      reason: 'on paper',
      dryRun: false,
      audit: office.audit,
      signal: never,
      confirm: async () => true,
    },
  );
  const ours = await openConsole({ ...office.target, who: 'ida' });
  const gone = await ours.get(`/letters/${one}`);
  expect(gone.status).toBe(200);
  expect(gone.text).toMatch(/no longer a letter[\s\S]*Discarded by jane[\s\S]*on paper/);
  for (const screen of ['replay', 'discard', 'edit'])
    expect((await ours.get(`/${screen}?id=${one}`)).text).toContain(
      `<a class="button" href="/letters/${one}">`,
    );
  const unknown = await ours.get('/letters/00000000');
  expect(unknown.status).toBe(404);
  expect(unknown.text).toContain('No letter 00000000 is known.');
  expect(unknown.text).toContain('href="/trace?id=00000000&amp;log=yes"');
  expect((await ours.get(`/letters/${other}`)).text).toContain('A letter for');
  await ours.close();
});

test('what was discarded is listed with who did it, why, and how many letters it brings back', async () => {
  const office = await offices.open();
  const target = { ...office.target, who: 'jane' };
  const ids = await office.park([{}, {}]);
  await discardLetters(target, {
    filter: { id: ids },
    reason: 'on paper',
    dryRun: false,
    signal: never,
    audit: createAudit(target, () => {}),
    confirm: async () => true,
  });
  const [one = ''] = await office.park([{}]);
  await editAt({ target, audit: createAudit(target, () => {}) }, { filter: { id: [one] } });
  const ours = await openConsole(office.target);
  const { text } = await ours.get('/log');
  const edited = text.split('<h2>Edited letters</h2>')[1] ?? '';
  expect(edited).toContain(`href="/trace?id=${one}"`);
  expect(edited).toMatch(new RegExp(`s3://[\\w/-]+/edited/[\\w/-]+-${one}\\.jsonl`));
  const [done = '', archived = ''] = text.split('<h2>Discarded letters</h2>');
  const rowsOf = (text: string): string =>
    (text.split('<tbody>')[1] ?? '').replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  expect(rowsOf(done)).toMatch(/ letters discard 2 letters on paper discarded 2 [0-9a-f]{8} /);
  expect(rowsOf(archived)).toMatch(/ jane on paper 2 s3:\S+\/discarded\/\S+ Restore /);
  await ours.close();
});

test('the list of runs tells them apart: on what, by whom, how they ended, and how to plan again', async () => {
  const office = await offices.open();
  const [one = '', other = ''] = await office.park([{}, {}]);
  const ours = await openConsole({ ...office.target, who: 'ida' });
  for (const id of [one, other]) {
    const { headers } = await ours.post('/replay', { id });
    const run = headers.location ?? '';
    const asked = async (): Promise<string> => {
      const { text } = await ours.get(run);
      const [, question] = /name="question" value="([^"]+)"/.exec(text) ?? [];
      return question ?? asked();
    };
    await ours.post(`${run}/answer`, {
      question: await asked(),
      answer: id === one ? 'no' : 'yes',
      rate: '500',
    });
    if (id === one) expect((await ours.get(run)).text).toContain(`<a href="/replay?id=${id}">Plan again</a>`);
  }
  const { text } = await ours.get('/runs');
  expect(text).toContain(`${one.slice(0, 8)}, by ida`);
  expect(text).toContain(`${other.slice(0, 8)}, by ida`);
  expect(text).toContain('Nothing was changed.');
  await ours.close();
});

test('letters that a screen has shown are discarded without another question, unless there are others; none are sent without one', async () => {
  const office = await offices.open();
  const ids = await office.park([{}, ...[1, 2].map(() => ({ failure: { kind: 'uncertain' as const } }))]);
  const ours = await openConsole(office.target);
  const begin = async (path: string, form: Record<string, string>) => {
    const run = (await ours.post(path, { reason: 'on paper', ...form })).headers.location ?? '';
    for (;;) {
      const { text } = await ours.get(run);
      // Nothing is at work that would send an outcome.
      if (/name="question"|This run ended|Waiting up to/.test(text)) return { run, text };
    }
  };
  const [one = '', two = '', three = ''] = ids;
  const other = await begin('/discard', { id: one, shown: '2' });
  expect(other.text).toContain('>Discard 1 letter</button>');
  const discarded = await begin('/discard', { id: one, shown: '1' });
  expect(discarded.text).toMatch(/1 letter was discarded\.[\s\S]*data-load="\/next"/);
  const decision = { of: 'matching', decision: 'send', kind: 'uncertain' };
  for (const id of [two, three]) {
    const asked = await begin('/decide', { ...decision, id, shown: '1' });
    expect(asked.text).toContain('>Send 1 letter</button>');
    await ours.post(`${asked.run}/stop`, {});
  }
  for (const [kinds, of] of [
    ['uncertain,outdated', 'matching'],
    ['', 'matching'],
  ] as const)
    expect((await ours.post('/decide', { ...decision, of, kind: kinds, reason: 'all' })).status).toBe(400);
  expect((await ours.get('/next')).text).toContain('What to do next');
  await ours.close();
});

test('the form for one letter shows what its fields hold, and marks what fails; values are revealed with a reason', async () => {
  const office = await offices.open();
  const [id = ''] = await office.park([
    {
      body: eventBody('grade-push', { comments: 'well done', userId: 301 }),
      failure: {
        kind: 'invalid',
        message: 'Not valid: data.comments: must be shorter; data.grade: is missing',
      },
    },
  ]);
  const ours = await openConsole(office.target);
  expect((await ours.get(`/edit?id=${id}`)).text).toContain(`data-load="/edit/held?id=${id}"`);
  const masked = (await ours.get(`/edit/held?id=${id}`)).text;
  expect(fieldIn(masked, 'comments')).toContain('now: <bdi>•••</bdi>');
  expect(fieldIn(masked, 'comments')).toContain('must be shorter');
  // Once, at the first field of what is missing.
  expect(fieldIn(masked, 'grade.type')).toContain('is missing');
  expect(fieldIn(masked, 'grade.points')).not.toContain('is missing');
  expect(fieldIn(masked, 'userId')).toContain('now: <bdi>301</bdi>');
  expect(fieldIn(masked, 'userId')).not.toContain('class="problem"');
  expect((await ours.post('/edit/values', { id })).status).toBe(400);
  const revealed = (await ours.post('/edit/values', { id, reason: 'a call' })).text;
  expect(fieldIn(revealed, 'comments')).toContain('now: <bdi>well done</bdi>');
  expect(revealed).toContain('name="reason" value="a call"');
  await ours.close();
});

test('the form for many letters shows what their fields hold, also where they differ', async () => {
  const office = await offices.open();
  const ids = await office.park(
    [401, 402, 403, 404, 405].map((userId) => ({
      body: eventBody('grade-push', { userId, gradeObjectId: 5999 }),
    })),
  );
  const ours = await openConsole(office.target);
  const path = `/edit/held?${ids.map((id) => `id=${id}`).join('&')}`;
  const form = (await ours.get(path)).text;
  expect(fieldIn(form, 'gradeObjectId')).toContain('now: <bdi>5999</bdi>');
  expect(fieldIn(form, 'userId')).toMatch(/now: <bdi>(40\d, ){2}40\d and 2 other values<\/bdi>/);
  expect(fieldIn(form, 'comments')).toContain('now: <bdi>•••</bdi>');
  await ours.close();
});

test('a check that fails asks again in the form, with what was typed, and the mark at its field', async () => {
  const office = await offices.open();
  const failure = { kind: 'invalid' as const };
  const [id = ''] = await office.park([{ body: eventBody('grade-push', { grade: null }), failure }]);
  const ours = await openConsole(office.target);
  const form = { id, function: 'grade-push', reason: 'points were left out' };
  const run = (await ours.post('/edit', { ...form, 'set:grade.points': '7' })).headers.location ?? '';
  const asked = async (texts: string): Promise<string> => {
    const { text } = await ours.get(run);
    return text.includes('name="question"') && text.includes(texts) ? text : asked(texts);
  };
  const answer = (page: string, fields: Record<string, string>) =>
    ours.post(`${run}/answer`, {
      question: /name="question" value="([^"]+)"/.exec(page)?.[1] ?? '',
      answer: 'yes',
      ...fields,
    });
  const again = await asked('Check again');
  expect(fieldIn(again, 'grade.type')).toContain('class="problem"');
  expect(fieldIn(again, 'grade.points')).toMatch(/value="7"[\s\S]*now: <bdi>not set/);
  await answer(again, { 'set:grade.points': '7', 'set:grade.type': 'numeric' });
  expect(await asked('Send 1 letter like this')).toMatch(/data\.grade\.points[\s\S]*\+ 7/);
  await ours.close();
});

test('an error of the command says what to do in a browser', async () => {
  const office = await offices.open();
  const [id = ''] = await office.park([{ failure: { kind: 'uncertain' } }]);
  const ours = await openConsole(office.target);
  const form = { id, function: 'grade-push', reason: 'points', 'set:grade.points': '7' };
  const run = (await ours.post('/edit', form)).headers.location ?? '';
  const ended = async (): Promise<string> => {
    const { text } = await ours.get(run);
    return /This run failed/.test(text) ? text : ended();
  };
  const result = await ended();
  expect(result).toContain('Look for it on the platform. If it was done, discard it.');
  expect(result).toContain('If it was not, tick that you have checked what the platform holds.');
  expect(result).not.toMatch(/include-uncertain|letters verify/);
  await ours.close();
});

test('a message that is not JSON has no form: its place, and the command that opens it', async () => {
  const office = await offices.open();
  const failure = { kind: 'invalid' as const, message: 'The message is not valid: the body is not JSON' };
  const [id = ''] = await office.park([{ body: '{"data":\n {"a": 1,}}', failure }]);
  const ours = await openConsole(office.target);
  const texts = [
    'is not JSON (its first fault is in line 2, column 10).',
    `sis-relay letters edit ${id.slice(0, 8)} opens it in your editor.`,
  ];
  const page = (await ours.get(`/edit/held?id=${id}`)).text;
  expect(page.split('<main')[1]?.split('</main>')[0]).not.toContain('<form');
  for (const each of texts) expect(page).toContain(each);
  // What was typed before the letter was read is not asked for again and again.
  const form = { id, function: 'grade-push', reason: 'points', 'set:grade.points': '7' };
  const run = (await ours.post('/edit', form)).headers.location ?? '';
  const ended = async (): Promise<string> => {
    const { text } = await ours.get(run);
    return /This run (ended|failed)|Check again/.test(text) ? text : ended();
  };
  const result = await ended();
  expect(result).not.toContain('Check again');
  for (const each of texts) expect(result).toContain(each);
  await ours.close();
});

test('one box finds a letter by its id, and a user, a course, a cause or a word with what else is known of them', async () => {
  const office = await offices.open();
  const [one = '', other = ''] = await office.park([
    { body: eventBody('grade-push', { userId: 4711 }) },
    { function: 'enrollment-create', body: eventBody('enrollment-create', { userId: 4712 }) },
  ]);
  const ours = await openConsole(office.target);
  const find = (text: string) => ours.post('/find', { text });
  expect((await find(one.slice(0, 8))).headers.location).toBe(`/letters/${one}`);
  expect((await find('4712')).headers.location).toBe(`/letters/${other}`);
  const course = (await find('2001')).text;
  for (const id of [one, other]) expect(course).toContain(`href="/letters/${id}"`);
  expect(course).toContain('href="/letters?orgUnit=2001"');
  const word = (await find('not found')).text;
  expect(word).toContain('href="/letters?error=not+found"');
  const [, cause = ''] = /href="\/letters\?cause=([0-9a-f]{8})"/.exec(word) ?? [];
  expect((await find(cause)).headers.location).toBe(`/letters?cause=${cause}`);
  // A name of a person is in no address.
  const name = (await find('Jane Doe')).text;
  expect(name).toContain('0 letters, 0 causes and 0 waiting messages');
  expect(name).not.toMatch(/href="[^"]*Jane/);
  expect((await find('')).status).toBe(400);
  await ours.close();
});

test('the message of a letter has its failure marked at the value that the platform names', async () => {
  const office = await offices.open();
  const ambiguous = 'data.gradeObjectName stands for 5001 and 5701 on the platform';
  const [refused = '', invalid = '', unclear = '', scope = '', word = ''] = await office.park([
    { failure: { detail: 'Grade object not found' } },
    {
      body: eventBody('grade-push', { grade: { points: 'many' } }),
      failure: { kind: 'invalid', message: 'The message is not valid: data.grade.points: must be a number' },
    },
    {
      body: eventBody('grade-push', { gradeObjectId: undefined, gradeObjectName: 'Midterm' }),
      failure: { kind: 'ambiguous-id', message: ambiguous, detail: 'gradeObjectName Midterm' },
    },
    {
      failure: { kind: 'missing-scope', detail: 'Insufficient scope to call. Required: grade:write, grade' },
    },
    { failure: { detail: 'Refused by grades:gradevalues:write, regrade-1 and le/grade' } },
  ]);
  const ours = await openConsole(office.target);
  const marked = async (id: string): Promise<string[]> =>
    [...(await ours.get(`/letters/${id}/message`)).text.matchAll(/<mark>\s*(.*?)<\/mark>/g)].map(
      ([, line = '']) => line.replace(/<[^>]*>/g, ''),
    );
  expect(await marked(refused)).toEqual([
    expect.stringMatching(/gradeObjectId.*5001, ← Grade object not found$/),
  ]);
  expect(await marked(invalid)).toEqual([expect.stringMatching(/points.* ← must be a number$/)]);
  expect(await marked(unclear)).toEqual([expect.stringMatching(`gradeObjectName.* ← ${ambiguous}$`)]);
  // What is healthy is not marked, as somebody would correct it.
  for (const id of [scope, word]) expect(await marked(id)).toEqual([]);
  await ours.close();
});

test('a name that the crosswalk lacks is looked up with one press, and is in no address', async () => {
  const office = await offices.open();
  const failure = {
    kind: 'unknown-id' as const,
    message:
      'The crosswalk does not know this data.userName. It has names from the platform’s list (last filled 2026-11-28T02:10Z) and from the university’s file (never filled)',
  };
  const body = (userName: string) =>
    eventBody('grade-push', { userId: undefined, userName, gradeObjectName: 'Midterm' });
  await office.park(['lena', 'liam'].map((name) => ({ body: body(name), failure })));
  const ours = await openConsole(office.target);
  const [link = ''] = /\/crosswalk\?cause=[0-9a-f]{8}/.exec((await ours.get('/causes')).text) ?? [];
  expect(link).not.toBe('');
  const screen = (await ours.get(link)).text;
  expect(screen).toMatch(/<option selected>user with the name<\/option>/);
  expect(screen).toMatch(/<select name="name"><option>lena<\/option><option>liam<\/option>/);
  expect(screen).toContain(`href="${link.replace('/crosswalk?cause=', '/causes#')}"`);
  expect((await ours.post('/crosswalk', { kind: 'user with the name', name: 'lena' })).text).toContain(
    'The crosswalk knows no user with the name lena.',
  );
  await ours.close();
});

const fieldIn = (page: string, path: string): string =>
  page.split('<div class="field">').find((each) => each.includes(`name="set:${path}"`)) ?? '';

test('letters that need a decision are revealed together, for one reason, and each can be decided on', async () => {
  const office = await offices.open();
  const failure = { kind: 'uncertain' as const, remedy: 'Look for a grade with this comment.' };
  const ids = await office.park(
    ['well done', 'see me'].map((comments) => ({ body: eventBody('grade-push', { comments }), failure })),
  );
  await office.park([{ body: eventBody('grade-push', { comments: 'not to be seen' }) }]);
  const ours = await openConsole(office.target);
  expect((await ours.get('/uncertain')).text).not.toContain('well done');
  expect((await ours.post('/uncertain/reveal')).status).toBe(400);
  const { text } = await ours.post('/uncertain/reveal', { reason: 'a look at the platform' });
  for (const texts of ['well done', 'see me', 'Look for a grade with this comment.'])
    expect(text).toContain(texts);
  expect(text).not.toContain('not to be seen');
  for (const id of ids) expect(text).toContain(`name="id" value="${id}"`);
  expect(text.match(/name="reason" value="a look at the platform"/g)).toHaveLength(2);
  const audited = [...(await office.objects('audit/')).values()].join('');
  expect(audited).toMatch(/letters show --reveal.*a look at the platform/);
  await ours.close();
});
