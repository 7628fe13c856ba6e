import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { messagesAbout } from '../../../../../lib/desk/messages/trace/trace.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../../temporary-folder.ts';
import { eventBody, never, officesForTests } from '../../cli/office.ts';
import { documentIn, typed } from '../../cli/typed.ts';
import { discardFrom } from '../operator.ts';

const offices = officesForTests();
afterAll(removeTemporaryFolders);

test('messages about a user or a course are told, ended ones too, the newest first', async () => {
  const office = await offices.open();
  const ids: string[] = [];
  for (const data of [
    { userId: 301 },
    { userId: 302 },
    { userId: 301, orgUnitId: 2002 },
    { userId: 3010 },
    { userId: 301 },
  ]) {
    ids.push(...(await office.park([{ body: eventBody('grade-push', data) }])));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const [first = '', second, third, , last] = ids;
  await discardFrom(office, { filter: { id: [first] } });
  const about = async (what: object, limit = 100) => {
    const { messages, isWhole } = await messagesAbout(office.target, what, { limit, signal: never });
    return [messages.map(({ message }) => message), isWhole];
  };
  // What was discarded just now was heard of last.
  expect(await about({ user: '301' })).toEqual([[first, last, third], true]);
  expect(await about({ user: '301', orgUnit: '2002' })).toEqual([[third], true]);
  expect(await about({ orgUnit: '2001', user: '302' })).toEqual([[second], true]);
  expect(await about({ orgUnit: '2001' }, 2)).toEqual([[first, last], false]);
  expect(await about({ user: '301' }, 3)).toEqual([[first, last, third], true]);
  expect(await about({ user: '999' })).toEqual([[], true]);
  const [discarded] = (await messagesAbout(office.target, { user: '301' }, { limit: 1, signal: never }))
    .messages;
  expect(discarded).toMatchObject({ state: 'discarded', by: 'a test', why: 'a test', user: '301' });

  const file = join(temporaryFolder(), 'stack.json');
  writeFileSync(file, JSON.stringify(office.description()));
  const trace = (options: string) => typed(`trace ${options} --stack ${file}`);
  const { messages } = documentIn<{ messages: { message: string }[] }>(
    (await trace('--user 301 --org-unit 2001 --json')).out,
  );
  expect(messages.map(({ message }) => message)).toEqual([first, last]);
  const { status, out } = await trace('--user 301 --limit 2');
  expect({ status, rows: out.match(/^[0-9a-f]{8} /gm)?.length }).toEqual({ status: 0, rows: 2 });
  expect(out).toContain('The newest 2: a higher --limit shows more.');
  expect(out).toContain(`All of one: sis-relay trace ${first.slice(0, 8)} --stack ${file}`);
  expect(await trace('--user 999')).toMatchObject({
    status: 1,
    out: expect.stringContaining('Nothing is known'),
  });
  expect(await trace('')).toMatchObject({ status: 2, err: expect.stringContaining('Which message?') });
  expect(await trace('3f0c91aa --user 301')).toMatchObject({
    status: 2,
    err: expect.stringContaining('not both'),
  });
});

test('about nobody and nothing is refused, and so is a deployment without a table', async () => {
  const { target } = await offices.open();
  const options = { limit: 1, signal: never };
  await expect(messagesAbout(target, {}, options)).rejects.toThrow(/Name a user, an org unit, or both/);
  await expect(messagesAbout({ ...target, deskTable: undefined }, { user: '301' }, options)).rejects.toThrow(
    /table of letters is not known/,
  );
});
