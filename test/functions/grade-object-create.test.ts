import { beforeEach, describe, expect, test } from 'vitest';
import { integration } from '../../functions/grade-object-create.ts';
import { integration as update } from '../../functions/grade-object-update.ts';
import { waitLimitMs } from '../limits.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration, () => ({}), [update]);
const item = { orgUnitId: 2001, name: 'Field report', type: 'numeric', maxPoints: 20 };
const linked = { ...item, folderId: 7001 };
const items = async (name = item.name) =>
  (await relay.rows('gradeObjects')).filter((row) => row.name === name);
const folder = async () => (await relay.rows('folders')).find(({ folderId }) => folderId === 7001);
const seed = (more: object) =>
  relay
    .controls()
    .seed({ gradeObjects: [{ gradeObjectId: 5900, orgUnitId: 2001, name: item.name, ...more }] });
const created = ['GET 200', 'POST 200'];
const createdAndLinked = ['GET 200', 'GET 200', 'POST 200', 'GET 200', 'PUT 200'];

describe('a grade object', () => {
  test.each([
    ['numeric', { maxPoints: 20 }, { gradeObjectType: 1, maxPoints: 20 }],
    ['pass-fail', {}, { gradeObjectType: 2, maxPoints: null }],
    ['pass-fail', { maxPoints: 1 }, { gradeObjectType: 2, maxPoints: 1 }],
    ['pass-fail', { scoreDenominator: 5 }, { gradeObjectType: 2, settings: { ScoreDenominator: 5 } }],
    ['selectbox', { gradeSchemeId: 12 }, { gradeObjectType: 3, settings: { GradeSchemeId: 12 } }],
    ['text', {}, { gradeObjectType: 4, maxPoints: null }],
  ])('of the type %s with %j is created, once it is seen that there is none', async (type, more, held) => {
    const data = { orgUnitId: 2001, name: item.name, type, ...more };
    await relay.isDone(data, created);
    expect(await items()).toMatchObject([{ orgUnitId: 2001, ...held }]);
  });

  test('has all that its message tells', async () => {
    await relay.deliver({
      ...item,
      shortName: 'Field',
      canExceedMaxPoints: true,
      isBonus: true,
      excludeFromFinalGradeCalculation: true,
      categoryId: 31,
      gradeSchemeId: 32,
      scoreDenominator: 5,
      description: 'What we saw at the <pond>.',
    });
    expect(await items()).toEqual([
      {
        gradeObjectId: expect.any(Number),
        orgUnitId: 2001,
        name: item.name,
        shortName: 'Field',
        gradeObjectType: 1,
        maxPoints: 20,
        description: { content: 'What we saw at the <pond>.', type: 'Text' },
        settings: {
          CategoryId: 31,
          GradeSchemeId: 32,
          CanExceedMaxPoints: true,
          IsBonus: true,
          ExcludeFromFinalGradeCalculation: true,
          ScoreDenominator: 5,
        },
      },
    ]);
  });

  test('becomes the grade item of the folder that is named, whose other settings stay', async () => {
    const customInstructions = { content: '<b>Bring boots</b>', type: 'Html' };
    await relay
      .controls()
      .seed({ folders: [{ folderId: 7001, orgUnitId: 2001, name: 'Pond', customInstructions }] });
    await relay.isDone(linked, createdAndLinked);
    const [{ gradeObjectId } = {}] = await items();
    expect(await folder()).toMatchObject({ gradeItemId: gradeObjectId, name: 'Pond', customInstructions });
  });

  test('that is there already with this type and these points is taken as it is', async () => {
    await seed({ maxPoints: 20, shortName: 'kept' });
    await relay.isDone({ ...item, shortName: 'other' }, ['GET 200']);
    expect(await items()).toMatchObject([{ gradeObjectId: 5900, shortName: 'kept' }]);
  });

  test('that is there already is linked', async () => {
    await seed({ maxPoints: 20 });
    const requests = ['GET 200', 'GET 200', 'GET 200', 'PUT 200'];
    await relay.isDone(linked, requests);
    expect(await folder()).toMatchObject({ gradeItemId: 5900 });
    expect(await items()).toHaveLength(1);
  });

  test('that is there twice is not linked anew where one of them is the folder’s', async () => {
    await seed({ maxPoints: 20 });
    await seed({ maxPoints: 20, gradeObjectId: 5901 });
    await relay.controls().seed({ folders: [{ folderId: 7001, orgUnitId: 2001, gradeItemId: 5901 }] });
    const requests = ['GET 200', 'GET 200', 'GET 200'];
    await relay.isDone(linked, requests);
    expect(await folder()).toMatchObject({ gradeItemId: 5901 });
  });

  test('of the same name in another org unit is none of this one', async () => {
    await seed({ maxPoints: 20, orgUnitId: 2002 });
    await relay.isDone(item, created);
    expect(await items()).toHaveLength(2);
  });

  test('whose name is written with letters and marks apart is found by the whole letters', async () => {
    await seed({ name: 'Pru\u0308fung', maxPoints: 20 });
    expect(await relay.deliver({ ...item, name: 'Prüfung' })).toMatchObject({ requests: ['GET 200'] });
  });

  test('that a person has renamed since is not created again, whichever message came after it, in any container', async () => {
    const [a, b] = [relay.event(item), relay.event({ ...item, name: 'Second report' })];
    await relay.deliverBody(a);
    await relay.deliverBody(b);
    const [{ gradeObjectId } = {}] = await items();
    await seed({ gradeObjectId, maxPoints: 20, name: 'Field report (group 1)' });
    for (const another of [false, true]) {
      if (another) relay.inAnotherContainer();
      for (const body of [a, b])
        expect(await relay.deliverBody(body)).toMatchObject({ outcomes: ['duplicate'], requests: [] });
    }
    expect([
      await items(),
      await items('Field report (group 1)'),
      await items('Second report'),
    ]).toMatchObject([[], [{ gradeObjectId }], [{}]]);
  });

  test('is told apart from that of another source whose id reads on where this one ends', async () => {
    const bodies = [
      relay.event(item, { source: '/sis dept', id: '7' }),
      relay.event({ ...item, name: 'Second report' }, { source: '/sis', id: 'dept 7' }),
    ];
    for (const body of bodies) await relay.isDone(body, created);
    expect([await items(), await items('Second report')]).toMatchObject([[{}], [{}]]);
  });

  test.each([
    ['of another type', { gradeObjectType: 4 }],
    ['of other points', { maxPoints: 10 }],
    ['out of another score', { maxPoints: 20, settings: { ScoreDenominator: 4 } }],
  ])('is refused where there is one %s under its name, and nothing is changed', async (_, other) => {
    await seed(other);
    expect(parked(await relay.deliver({ ...linked, scoreDenominator: 5 }))).toMatchObject({
      requests: ['GET 200', 'GET 200'],
      kind: 'rejected',
      message:
        'Org unit 2001 already has a grade object with this name, but it has another type, other points or another folder',
      remedy: expect.stringContaining('Rename the grade object on the platform, or correct the message'),
    });
    expect(await items()).toHaveLength(1);
    expect(await folder()).toMatchObject({ gradeItemId: null });
  });

  test('that is the grade item of another folder is not given to this one, too', async () => {
    await seed({ maxPoints: 20 });
    await relay.controls().seed({ folders: [{ folderId: 7002, orgUnitId: 2001, gradeItemId: 5900 }] });
    expect(parked(await relay.deliver(linked))).toMatchObject({
      kind: 'rejected',
      remedy: expect.stringContaining('Rename'),
    });
    expect(await items()).toHaveLength(1);
    expect(await folder()).toMatchObject({ gradeItemId: null });
    await relay.isDone(item, ['GET 200']);
  });

  test('takes no folder from another grade object: refused before anything is created', async () => {
    await relay.controls().seed({ folders: [{ folderId: 7001, orgUnitId: 2001, gradeItemId: 5001 }] });
    expect(parked(await relay.deliver(linked))).toMatchObject({
      requests: ['GET 200', 'GET 200'],
      kind: 'rejected',
      message: 'Grade object 5001 is already linked to dropbox folder 7001',
    });
    expect(await items()).toEqual([]);
  });
});

describe('two messages at once', () => {
  beforeEach(() => relay.controls().fault({ delayMs: 200 }, { method: 'POST', path: 'grades/$', times: 2 }));

  test('about one name create one grade object', async () => {
    const { outcomes } = await relay.deliverTogether(relay.event(item), relay.event(item));
    expect(outcomes).toEqual([['done'], ['done']]);
    expect(await items()).toHaveLength(1);
  });

  test('that want one folder for two names: one has it, and of the other somebody is told', async () => {
    const other = { ...linked, name: 'Second report' };
    const { outcomes, letters } = await relay.deliverTogether(relay.event(linked), relay.event(other));
    expect(outcomes.flat().sort()).toEqual(['done', 'parked']);
    const all = [...(await items()), ...(await items(other.name))];
    expect(all).toHaveLength(1);
    const [{ gradeObjectId } = {}] = all;
    expect(await folder()).toMatchObject({ gradeItemId: gradeObjectId });
    const message = `Grade object ${gradeObjectId} is already linked to dropbox folder 7001`;
    expect(letters).toMatchObject([{ failure: { kind: 'rejected', message } }]);
  });
});

describe('a creation that ends in the middle', () => {
  test('an answer to the link that shows no link is none, unless the folder has it', async () => {
    const body = { Id: 7001, Name: 'Lab reports', GradeItemId: null };
    const link = { method: 'PUT', path: 'folders/7001$' };
    await relay.controls().fault({ status: 200, body }, link);
    expect(parked(await relay.deliver(linked))).toMatchObject({
      kind: 'unexpected-answer',
      message: expect.stringContaining('another GradeItemId than requested'),
    });
    expect((await folder())?.gradeItemId ?? null).toBeNull();
    await relay.controls().fault({ status: 200, body, when: 'after' }, link);
    const { outcomes, letters } = await relay.deliver(linked);
    expect({ end: outcomes.at(-1), letters }).toEqual({ end: 'done', letters: [] });
  });

  test('the permission to link is missing: parked with its item, and a replay only links it', async () => {
    const permission = {
      status: 403,
      body: 'Not authorized for [ orgUnitId: 2001, securityVariableName: ManageDropbox ]',
    };
    await relay.controls().fault(permission, { method: 'PUT' });
    const delivery = await relay.deliver(linked);
    expect(parked(delivery)).toMatchObject({ kind: 'missing-permission', required: 'ManageDropbox' });
    const made = await items();
    expect(await relay.replay(delivery)).toMatchObject({
      requests: ['GET 200', 'GET 200', 'GET 200', 'GET 200', 'GET 200', 'PUT 200'],
      letters: [],
    });
    expect(await items()).toEqual(made);
    expect(await folder()).toMatchObject({ gradeItemId: made[0]?.gradeObjectId });
  });

  test('it was created, and is renamed before anybody has looked: the rename waits for that, and there is one', async () => {
    await relay.controls().fault({ reset: 'after' }, { method: 'POST', path: 'grades/$' });
    const creating = relay.deliver(item);
    await expect.poll(() => items(), { timeout: waitLimitMs }).toHaveLength(1);
    const [{ gradeObjectId } = {}] = await items();
    const data = { orgUnitId: 2001, gradeObjectId, type: 'numeric', name: 'Field report (group 1)' };
    const renaming = relay.deliverBody(relay.event(data, { type: 'sis.grade-object-update.v1' }));
    const ends = [(await creating).outcomes.at(-1), (await renaming).outcomes.at(-1)];
    expect(ends).toEqual(['done', 'done']);
    const all = await relay.rows('gradeObjects');
    expect(all.filter(({ name }) => String(name).startsWith(item.name))).toMatchObject([
      { gradeObjectId, name: 'Field report (group 1)' },
    ]);
    const posts = (await relay.requests()).filter(({ method }) => method === 'POST');
    expect(posts).toHaveLength(1);
  });
});

test.each([
  [' Field report', /data\.name: must be one line, without a space at its beginning or end/],
  ['a/b', /data\.name: must hold none of \/ " \* < > \+ = \| , %/],
])('a grade object with the name %j is none: nothing is sent', (name, says) => {
  expect(relay.problemOf({ ...item, name })).toMatch(says);
});
