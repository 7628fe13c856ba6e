import { describe, expect, test } from 'vitest';
import { integration as creation } from '../../functions/grade-object-create.ts';
import { integration } from '../../functions/grade-object-update.ts';
import { parseMessage } from '../../lib/message/message.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration);
const ids = { orgUnitId: 2001, gradeObjectId: 5900 };
const update = { ...ids, type: 'numeric', name: 'Field report', maxPoints: 30 };
const settings = {
  CategoryId: 31,
  GradeSchemeId: 32,
  CanExceedMaxPoints: true,
  IsBonus: true,
  ExcludeFromFinalGradeCalculation: true,
};
const description = { content: '<p>Bring <b>boots</b></p>', type: 'Html' };
const before = {
  ...ids,
  name: 'Report',
  shortName: 'Rep',
  gradeObjectType: 1,
  maxPoints: 20,
  description,
  settings,
};
const seed = (more: object = {}) => relay.controls().seed({ gradeObjects: [{ ...before, ...more }] });
const held = async () =>
  (await relay.rows('gradeObjects')).find(({ gradeObjectId }) => gradeObjectId === 5900);
const updated = ['GET 200', 'PUT 200'];

describe('a grade object', () => {
  test('is changed in what its message gives, and keeps everything else', async () => {
    await seed();
    const more = { isBonus: false, categoryId: 33, scoreDenominator: 5 };
    await relay.isDone({ ...update, ...more }, updated);
    expect(await held()).toEqual({
      ...before,
      name: 'Field report',
      maxPoints: 30,
      settings: { ...settings, IsBonus: false, CategoryId: 33, ScoreDenominator: 5 },
    });
  });

  test('keeps the score’s denominator that it has, and loses what its message says is none', async () => {
    await seed({ settings: { ...settings, ScoreDenominator: 5 } });
    const none = { categoryId: null, gradeSchemeId: null, description: '', shortName: '' };
    await relay.deliver({ ...ids, type: 'numeric', ...none });
    expect(await held()).toMatchObject({
      name: 'Report',
      shortName: '',
      maxPoints: 20,
      description: { content: '' },
      settings: { ...settings, CategoryId: null, GradeSchemeId: null, ScoreDenominator: 5 },
    });
  });

  test.each([
    ['pass-fail', 2, { IsBonus: true }, {}],
    ['selectbox', 3, { GradeSchemeId: 4 }, { gradeSchemeId: 12 }],
    ['text', 4, {}, {}],
  ])('of the type %s is changed', async (type, gradeObjectType, settings, more) => {
    await seed({ gradeObjectType, maxPoints: null, settings });
    const data = { ...ids, type, name: 'Field report', categoryId: 31, ...more };
    await relay.isDone(data, updated);
    expect(await held()).toMatchObject({
      name: 'Field report',
      shortName: 'Rep',
      gradeObjectType,
      maxPoints: null,
      description,
      settings: { ...settings, CategoryId: 31, ...(type === 'selectbox' && { GradeSchemeId: 12 }) },
    });
  });

  test('stays the grade item of its dropbox folder', async () => {
    await seed();
    const folder = { folderId: 7001, orgUnitId: 2001, gradeItemId: 5900 };
    await relay.controls().seed({ folders: [folder] });
    await relay.isDone(update, updated);
    expect(await relay.rows('folders')).toMatchObject([folder, {}]);
  });

  test('that an update has taken from its folder is told to a person', async () => {
    await seed();
    await relay.controls().seed({ folders: [{ folderId: 7001, orgUnitId: 2001, gradeItemId: 5900 }] });
    const body = { Id: 5900, Name: 'Field report', GradeType: 'Numeric', AssociatedTool: null };
    await relay.controls().fault({ status: 200, body, when: 'after' }, { method: 'PUT' });
    const { outcomes, letters } = await relay.deliver(update);
    expect(outcomes).toEqual(['parked']);
    expect(letters).toMatchObject([
      { failure: { kind: 'rejected', remedy: expect.stringMatching(/^Link it .* discard the letter\.$/) } },
    ]);
  });
});

describe('the order of messages about one grade object', () => {
  test('of an older one, what no newer one has given is still done', async () => {
    await seed();
    const older = relay.event({ ...update, name: 'Old', isBonus: false });
    await relay.deliver({ ...ids, type: 'numeric', name: 'New' });
    await relay.isDone(older, updated);
    expect(await held()).toMatchObject({ name: 'New', maxPoints: 30, settings: { IsBonus: false } });
  });

  test('in another container, one about another grade object is done when the first can act no more', async () => {
    await seed();
    await relay.deliver(update);
    relay.inAnotherContainer();
    const { outcomes, letters } = await relay.deliver({
      ...update,
      gradeObjectId: 5001,
      name: 'Midterm exam',
    });
    expect({ end: outcomes.at(-1), letters }).toEqual({ end: 'done', letters: [] });
    expect(await relay.rows('gradeObjects')).toMatchObject([{ name: 'Midterm exam' }, {}, {}, {}, {}, {}]);
  });

  test('an older one about another grade object of the org unit is done', async () => {
    await seed();
    const older = relay.event({ ...update, gradeObjectId: 5001, name: 'Midterm exam' });
    await relay.deliver(update);
    await relay.isDone(older, updated);
  });

  test('a copy of a rename is a duplicate in another container, too, which finds it by the new name', async () => {
    await seed();
    const names = { gradeObjectName: 'Field report', gradeObjectFormerNames: ['Report'] };
    const rename = relay.event({ orgUnitId: 2001, ...names, type: 'numeric', name: 'Field report' });
    await relay.deliverBody(rename);
    expect(await held()).toMatchObject({ name: 'Field report' });
    relay.inAnotherContainer();
    const { outcomes, letters } = await relay.deliverBody(rename);
    expect({ end: outcomes.at(-1), letters }).toEqual({ end: 'duplicate', letters: [] });
  });

  test('a creation in the same org unit takes turns with it, and neither supersedes the other', () => {
    const body = (name: string, data: object) => relay.event(data, { type: `sis.${name}.v1` });
    const { gradeObjectId: _, ...made } = update;
    const changed = parseMessage(body('grade-object-update', update), integration, Date.now());
    const created = parseMessage(body('grade-object-create', made), creation, Date.now());
    expect(integration.resource(changed.data, changed)).toBe(creation.resource(created.data, created));
    const fields = integration.fields?.(changed.data, changed) ?? [];
    expect(fields).toEqual(['object/5900/Name', 'object/5900/MaxPoints']);
    expect(fields).not.toEqual(expect.arrayContaining([...(creation.fields?.(created.data, created) ?? [])]));
  });
});

describe('what is refused is parked, and nothing is changed', () => {
  test('another type, which the platform does not change', async () => {
    await seed();
    const wrong = { ...update, type: 'pass-fail', maxPoints: 30 };
    expect(parked(await relay.deliver(wrong))).toMatchObject({
      requests: ['GET 200'],
      kind: 'rejected',
      message: 'Grade object 5900 does not have the type data.type, and the platform cannot change types',
      remedy: expect.stringMatching(/^Correct data\.type or data\.gradeObjectId, then replay/),
    });
    expect(await held()).toEqual(before);
  });

  test('what the platform does not tell and the message does not give, as an update would reset it', async () => {
    await seed();
    const shown = { Id: 5900, Name: 'Report', ShortName: '', GradeType: 'Numeric', Description: null };
    const body = { ...shown, MaxPoints: 20, IsBonus: false, ExcludeFromFinalGradeCalculation: false };
    const answer = { status: 200, body: { ...body, CanExceedMaxPoints: false } };
    await relay.controls().fault(answer, { method: 'GET', times: 2 });
    expect(parked(await relay.deliver(update))).toMatchObject({
      requests: ['GET 200'],
      kind: 'rejected',
      message:
        'The platform does not show CategoryId, GradeSchemeId of grade object 5900, so an update would reset it',
    });
    expect(await held()).toEqual(before);
    const whole = { ...update, categoryId: null, gradeSchemeId: null };
    await relay.isDone(whole, updated);
  });
});

test('an update that changes nothing is none: nothing is sent', () => {
  const wrong = { ...update, name: undefined, maxPoints: undefined };
  expect(relay.problemOf(wrong)).toMatch(/must give at least one setting to change/);
});
