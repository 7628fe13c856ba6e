import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LetterList } from '../../../../../lib/desk/messages/letters/list.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../../temporary-folder.ts';
import { eventBody, officesForTests } from '../../cli/office.ts';
import { documentIn, typed } from '../../cli/typed.ts';

const offices = officesForTests();
let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(removeTemporaryFolders);

const deepBody = (levels: number, id = 'deep-event'): string =>
  eventBody('grade-push', {}, { id, extension: '@' }).replace('"@"', '['.repeat(levels) + ']'.repeat(levels));
const detail = 'Jane has no such grade object';

/** An office in which one letter is of a message nested so deep, between two others. */
const opened = async (levels: number, failure: object | null = { detail }) => {
  const office = await offices.open();
  const file = join(folder, `${office.target.prefix}stack.json`);
  writeFileSync(file, JSON.stringify(office.description()));
  // Made once: no two bodies are said at the same time.
  const body = deepBody(levels);
  const ids = await office.park([
    { body: eventBody('grade-push', {}, { id: 'first-event' }) },
    { body, failure },
    { failure: { kind: 'unavailable' } },
  ]);
  const relay = async (line: string, person = {}) => {
    const said = await typed(`${line} --stack ${file}`, person);
    expect(said.err).not.toMatch(/defect|RangeError/);
    return said;
  };
  return { office, relay, body, deepId: ids[1] ?? '', firstId: ids[0] ?? '' };
};
const levels = 10_000;

describe(`a letter whose message is nested ${levels} levels deep`, () => {
  test.each([65, 500_000])(
    'is listed, grouped and counted beside the others, as one of %i is',
    async (levels) => {
      const { relay } = await opened(levels);
      const { letters: listed } = documentIn<LetterList>((await relay('letters list --json')).out);
      expect(listed.map(({ kind }) => kind).sort()).toEqual(['rejected', 'unavailable', 'unreadable']);
      expect(listed.find(({ kind }) => kind === 'unreadable')).toMatchObject({
        error: 'its message is nested deeper than 64 levels',
        eventId: 'deep-event',
        status: 404,
      });
      expect((await relay('letters groups')).out).toMatch(/1 {2}grade-push {2}unreadable/);
      expect((await relay('status')).out).toMatch(/1 {2}unreadable/);
      for (const filter of ['--kind unreadable', '--id deep-event --error nested'])
        expect(documentIn((await relay(`letters groups --json ${filter}`)).out)).toMatchObject({
          matching: 1,
        });
      expect((await relay('letters groups --user 301 --json')).out).toContain('"matching":2');
    },
  );

  test('is shown, and so are the others', async () => {
    const { relay, body, deepId, firstId } = await opened(levels);
    const shown = await relay(`letters show ${deepId}`);
    expect(shown.out).toContain('its message is nested deeper than 64 levels');
    expect(shown.out).not.toContain('Jane');
    const revealed = documentIn((await relay(`letters show ${deepId} --reveal --reason r --json`)).out);
    expect(revealed).toMatchObject({ failure: { detail }, message: body });
    expect((await relay(`letters show ${firstId}`)).status).toBe(0);
  });

  test('is mended by hand', async () => {
    const { office, relay, deepId } = await opened(levels);
    const refused = await relay(`letters edit ${deepId} --reason r --set data.userId=1 --yes`);
    expect(refused).toMatchObject({
      status: 1,
      err: expect.stringContaining('nested deeper than 64 levels'),
    });
    const edit = (text: string) => text.replace(/"extension":\[+\]+/, '"extension":1');
    await relay(`letters edit ${deepId} --reason r --yes --wait 1`, { edit });
    const [sent] = await office.take(office.queueOf('grade-push').url);
    expect(JSON.parse(sent?.Body ?? '')).toMatchObject({ id: 'deep-event', extension: 1 });
  });
});

test.each(['\u009B]', '/a'])('nor is one whose words are made to be slow any hindrance: %j', async (slow) => {
  const { relay, office } = await opened(65);
  const text = slow.repeat(60_000);
  await office.park([{ failure: { title: text, detail: text, remedy: text } }]);
  expect((await relay('letters groups')).status).toBe(0);
});

test('an unreadable letter of which nobody knows whether it was done is edited only where that is asked for', async () => {
  const { relay, deepId } = await opened(65, { kind: 'uncertain' });
  const edit = (text: string) => text.replace(/"extension":\[+\]+/, '"extension":1');
  const { status, err } = await relay(`letters edit ${deepId} --reason r --yes`, { edit });
  expect({ status, err }).toEqual({ status: 1, err: expect.stringContaining('--include-uncertain') });
});

test.each([
  ['that was refused for it is invalid', { kind: 'invalid' }, 'invalid'],
  ['of which nothing else is told is unreadable', null, 'unreadable'],
])('a letter of a message nested too deep %s', async (_, failure, kind) => {
  const { relay } = await opened(10_000, failure);
  const { out } = await relay('letters list --id deep-event --json');
  expect(documentIn(out)).toMatchObject({ letters: [{ kind }] });
  const replayed = await relay('letters replay --no-probe --yes --canary-wait 1 --json --id deep-event');
  expect(replayed.status).toBe(1);
  expect(replayed.out).toMatch(/"send":\[\],"notYet":\[\{|"stillInvalid":1/);
});
