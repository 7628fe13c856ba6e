import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listed } from '../../../../../lib/delivery/letters/read-records.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../../temporary-folder.ts';
import { type Office, officesForTests } from '../../cli/office.ts';
import { documentIn, typed } from '../../cli/typed.ts';

const offices = officesForTests();
let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(removeTemporaryFolders);

const opened = async () => {
  const office = await offices.open();
  const stack = join(folder, `${office.target.prefix}.json`);
  writeFileSync(stack, JSON.stringify(office.description()));
  const file = `${stack}l`;
  return {
    office,
    file,
    relay: (line: string, person = {}) => typed(`${line} --stack ${stack}`, person),
    listedIds: async () => (await listed(office.desk, 'letter')).map(({ message }) => message).sort(),
  };
};
const importedIn = (out: string) =>
  documentIn<{ imported: number; stillLetters?: number; repeated?: number[] }>(out);
/** What an operator did to it before. */
const history = JSON.stringify({ deeds: [] });
const parkTwo = (office: Office) =>
  office.park([
    {
      letterId: 'letter-one',
      attributes: { history: { DataType: 'String', StringValue: history } },
    },
    // As one that SQS moved by itself: it does not tell an id.
    {},
  ]);

test('the others of a file are imported, as they were, into the queue and the lists at once', async () => {
  const { office, file, relay, listedIds } = await opened();
  await parkTwo(office);
  await relay(`letters export --to ${file} --reason r`);
  await office.park([{ letterId: 'letter-three' }]);
  await relay('letters discard --id letter-one --reason r --yes');
  expect(await listedIds()).not.toContain('letter-one');

  const { status, out } = await relay(`letters import ${file} --yes --json`);
  expect([status, importedIn(out)]).toMatchObject([0, { imported: 1, stillLetters: 1 }]);
  expect(await listedIds()).toContain('letter-one');
  const [record] = (await listed(office.desk, 'letter')).filter(({ message }) => message === 'letter-one');
  expect(record).toMatchObject({ state: 'letter', kind: 'rejected', user: '301', history });
  expect(record?.by).toBeUndefined();
  const letters = await office.take(office.deadLetters.url);
  expect(letters).toHaveLength(3);
  expect(
    letters.find(({ MessageAttributes }) => MessageAttributes?.letterId?.StringValue === 'letter-one'),
  ).toMatchObject({ MessageAttributes: { history: { StringValue: history } } });
});

test('imported twice, a file makes no letter twice, whether they tell their ids or not', async () => {
  const { office, file, relay, listedIds } = await opened();
  await parkTwo(office);
  await relay(`letters export --to ${file} --reason r`);
  await relay('letters discard --all --reason r --yes');
  expect(await listedIds()).toEqual([]);
  expect(importedIn((await relay(`letters import ${file} --yes --json`)).out)).toMatchObject({ imported: 2 });
  expect(await listedIds()).toHaveLength(2);
  const said = await relay(`letters import ${file} --yes`);
  expect(said.err).toContain('2 of 2 letters are in the dead-letter queue already, and are left out.');
  expect(said).toMatchObject({ status: 1, out: '0 letters can be imported.\n' });
  expect(await office.take(office.deadLetters.url)).toHaveLength(2);
});

test('the same letter twice in a file is imported once', async () => {
  const { office, file, relay } = await opened();
  await parkTwo(office);
  await relay(`letters export --to ${file} --reason r`);
  await relay('letters discard --all --reason r --yes');
  writeFileSync(file, readFileSync(file, 'utf8').repeat(2));
  const { err } = await relay(`letters import ${file} --dry-run`);
  expect(err).toContain('line 3: repeats the letter of an earlier line, and is left out\nline 4:');
  const { status, out } = await relay(`letters import ${file} --yes --json`);
  expect([status, importedIn(out)]).toMatchObject([0, { imported: 2, repeated: [3, 4] }]);
  expect(await office.take(office.deadLetters.url)).toHaveLength(2);
});

test('letters of another stage are refused at once, or are taken for this one, which they then tell', async () => {
  const { office, file, relay, listedIds } = await opened();
  await parkTwo(office);
  await relay(`letters export --to ${file} --reason r`);
  await relay('letters discard --all --reason r --yes');
  const prefix = office.target.prefix;
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(prefix, 'sis-relay-prod-'));

  const refused = await relay(`letters import ${file} --yes`);
  expect(refused.status).toBe(1);
  expect(refused.out).toContain(
    'line 1: is of the queue sis-relay-prod-grade-push, which is not of this stage.',
  );
  expect(refused.out).toContain('Nothing was imported');
  expect(await listedIds()).toEqual([]);

  const taken = await relay(`letters import ${file} --yes --for-this-stage`);
  expect(taken.err).toContain('2 letters are of the queue sis-relay-prod-grade-push, of another stage.');
  expect([taken.status, taken.out]).toEqual([0, '2 letters were imported.\n']);
  const records = await listed(office.desk, 'letter');
  expect(records.map(({ kind, function: name }) => [kind, name])).toEqual([
    ['rejected', 'grade-push'],
    ['rejected', 'grade-push'],
  ]);
  expect((await relay('letters show letter-one')).out).toMatch(/Imported from +sis-relay-prod-grade-push/);
  const letters = await office.take(office.deadLetters.url);
  expect(letters.map(({ MessageAttributes: { source, history: told } = {} }) => [source, told])).toEqual(
    [0, 1].map(() => [
      expect.objectContaining({ StringValue: office.queueOf('grade-push').arn }),
      expect.objectContaining({
        StringValue: expect.stringContaining('"importedFrom":"sis-relay-prod-grade-push"'),
      }),
    ]),
  );
});

test('what the lists have and the queue has lost is imported', async () => {
  const { office, file, relay, listedIds } = await opened();
  await parkTwo(office);
  await relay(`letters export --to ${file} --reason r`);
  await office.take(office.deadLetters.url);
  expect(await listedIds()).toHaveLength(2);
  expect(importedIn((await relay(`letters import ${file} --yes --json`)).out)).toMatchObject({ imported: 2 });
  expect(await office.take(office.deadLetters.url)).toHaveLength(2);
});

test('of two who import a file at the same time, each letter comes once', async () => {
  const { office, file, relay } = await opened();
  await office.park(Array.from({ length: 12 }, (_, at) => ({ letterId: `letter-${at}` })));
  await relay(`letters export --to ${file} --reason r`);
  await relay('letters discard --all --reason r --yes');
  const both = await Promise.all([1, 2].map(() => relay(`letters import ${file} --yes --json`)));
  const counts = both.map(({ out }) => importedIn(out).imported);
  expect(counts[0]! + counts[1]!).toBe(12);
  expect(await office.take(office.deadLetters.url)).toHaveLength(12);
});

test('a message that went on and is a letter again is not imported beside it', async () => {
  const { office, file, relay } = await opened();
  await office.park([{ letterId: 'letter-one' }]);
  await relay(`letters export --to ${file} --reason r`);
  const working = office.work('grade-push', () => ({ kind: 'rejected' }));
  await relay('letters replay --no-probe --yes --canary-wait 10');
  await working.stop();
  const { out } = await relay(`letters import ${file} --yes --json`);
  expect(importedIn(out)).toMatchObject({ imported: 0, stillLetters: 1 });
  expect(await office.take(office.deadLetters.url)).toHaveLength(1);
});
