import { afterAll, describe, expect, test } from 'vitest';
import { mayImportNow } from '../../../lib/options/snapshots/import-order.ts';
import { type ImportRequest, requestIn } from '../../../lib/options/snapshots/import-request.ts';
import { acceptedKey } from '../../../lib/options/snapshots/state/record.ts';
import type { SnapshotStore } from '../../../lib/options/snapshots/state/store.ts';
import {
  carryLost,
  listUnaccepted,
  missingBefore,
  noteUnaccepted,
  readUnaccepted,
  settleUnaccepted,
  type UnacceptedFile,
  unacceptedPrefix,
  writeUnaccepted,
} from '../../../lib/options/snapshots/state/unaccepted.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../temporary-folder.ts';
import { bucketFolder } from './bucket-folder.ts';

afterAll(removeTemporaryFolders);

const key = 'snapshots/a b+ä.zip';

describe('a request', () => {
  const encoded = 'snapshots/a+b%2B%C3%A4.zip';
  test.each<[string, unknown, ImportRequest]>([
    [
      'of a notice of S3',
      { Records: [{ s3: { object: { key: encoded, versionId: 'v1', sequencer: '0A' } } }] },
      { key, versionId: 'v1', sequencer: '0A' },
    ],
    ['of a bucket without versions', { Records: [{ s3: { object: { key: encoded } } }] }, { key }],
    [
      'of EventBridge',
      { detail: { object: { key, 'version-id': 'v1', sequencer: '0A' } } },
      { key, versionId: 'v1', sequencer: '0A' },
    ],
    ['of a person', { key, versionId: 'v1' }, { key, versionId: 'v1' }],
  ])('%s names the version', (_, event, request) => expect(requestIn(event)).toEqual(request));

  test('of no file, or with a field that is misspelt, is refused with what to pass', () => {
    for (const event of [{}, { key: 'uploads/a.zip' }, { key, versionid: 'v1' }])
      expect(() => requestIn(event)).toThrow(/names no file under snapshots\/.*versionId/);
  });
});

const arnOf = (name: string): string => `arn:aws:lambda:here:1:function:import:1/durable-execution/x/${name}`;
/** Files that were put at these seconds, by the ids of their versions, which are the names of their executions. */
const turns = (seconds: Record<string, number>) => {
  const { store } = bucketFolder(temporaryFolder());
  const find: SnapshotStore['find'] = async ({ versionId = '' }) => {
    const droppedMs = Date.parse('2026-11-01T02:00:00Z') + 1000 * (seconds[versionId] ?? 0);
    return { key, versionId, etag: '', sizeBytes: 1, droppedMs };
  };
  const running = Object.keys(seconds).map(arnOf);
  const comes = (name: string, sequencer?: string) =>
    mayImportNow(running, {
      store: { ...store, find },
      executionArn: arnOf(name),
      request: { key, versionId: name, sequencer },
    });
  return { store, running, comes };
};

describe('the turn of an import', () => {
  test('of an empty file comes a minute after it was put: its content may follow', async () => {
    const comes = (ageMs: number, sizeBytes: number) => {
      const { store } = bucketFolder(temporaryFolder());
      const executionArn = arnOf(`${ageMs} ${sizeBytes}`);
      const find = async () => ({ key, etag: '', sizeBytes, droppedMs: Date.now() - ageMs });
      return mayImportNow([executionArn], { store: { ...store, find }, executionArn, request: { key } });
    };
    expect(await comes(0, 0)).toBe(false);
    expect(await comes(30_000, 0)).toBe(false);
    expect(await comes(0, 1)).toBe(true);
    expect(await comes(60_000, 0)).toBe(true);
  });

  test('comes to other feeds while an empty file waits for its content, and to its own feed afterwards', async () => {
    const { store } = bucketFolder(temporaryFolder());
    const running = ['empty', 'next', 'other'].map(arnOf);
    const comes = (name: string, file: string, ageMs: number) =>
      mayImportNow(running, {
        executionArn: arnOf(name),
        request: { key: file, versionId: name },
        store: {
          ...store,
          find: async () => ({
            key: file,
            etag: '',
            sizeBytes: name === 'empty' ? 0 : 1,
            droppedMs: Date.now() - ageMs,
          }),
        },
      });
    expect(await comes('empty', key, 20_000)).toBe(false);
    expect(await comes('next', key, 10_000)).toBe(false);
    expect(await comes('other', 'snapshots/b.csv', 5_000)).toBe(true);
  });

  test('comes in the order of the puts, whichever notice came first, and once the one at work has ended', async () => {
    const { comes, running } = turns({ late: 3, early: 1, middle: 2 });
    // They have begun: each is listed before it waits.
    expect(await comes('late')).toBe(true);
    expect([await comes('early'), await comes('middle')]).toEqual([false, false]);
    running.splice(0, 1);
    expect([await comes('middle'), await comes('early')]).toEqual([false, true]);
    expect(await comes('middle')).toBe(false);
    running.splice(0, 1);
    expect(await comes('middle')).toBe(true);
  });

  test('comes to other feeds while one waits for a person, and to its own feed once that has decided', async () => {
    const { store, running } = turns({ held: 1, next: 2, other: 3 });
    const asked: string[] = [];
    const comes = (name: string, file = key) =>
      mayImportNow(running, {
        executionArn: arnOf(name),
        request: { key: file, versionId: name },
        store: {
          ...store,
          find: async () => ({
            key: file,
            etag: '',
            sizeBytes: 1,
            droppedMs: { held: 1, next: 2, other: 3 }[name] ?? 0,
          }),
        },
        replace: async (held, own) => {
          asked.push(`${own.execution?.at(-1)} for ${held.execution?.at(-1)}`);
        },
      });
    expect(await comes('held')).toBe(true);
    await noteUnaccepted(store, arnOf('held'), { is: 'held' });
    expect([await comes('next'), await comes('other', 'snapshots/b.csv')]).toEqual([false, true]);
    expect(asked).toEqual(['t for d']);
    // The decision has come, but another is at work.
    expect(await comes('held')).toBe(false);
    running.splice(2, 1);
    expect([await comes('held'), await comes('next')]).toEqual([true, false]);
  });

  test('comes by the notices’ order for files of one second', async () => {
    const { comes, running, store } = turns({ first: 0, a: 1, b: 1 });
    expect(await comes('first', '01')).toBe(true);
    expect([await comes('a', '0B'), await comes('b', '0A')]).toEqual([false, false]);
    running.splice(0, 1);
    expect([await comes('a', '0B'), await comes('b', '0A')]).toEqual([false, true]);
    expect((await listUnaccepted(store)).map(({ versionId }) => versionId)).toEqual(['first', 'b', 'a']);
  });

  test('waits for an older execution that lists nothing, and does not come before its own is listed', async () => {
    const { comes, running } = turns({ ofBefore: 0, own: 1 });
    expect(await comes('own')).toBe(false);
    running.shift();
    expect(await comes('own')).toBe(true);
    running.length = 0;
    expect(await comes('own')).toBe(false);
  });

  test('comes to neither where two have begun at once, and then to the one that was put first', async () => {
    const { comes, store } = turns({ one: 2, other: 1 });
    expect(await comes('one')).toBe(true);
    const entry = (await readUnaccepted(store, arnOf('one'))) as UnacceptedFile;
    await writeUnaccepted(store, arnOf('other'), { ...entry, execution: arnOf('other'), is: 'at work' });
    expect(await comes('one')).toBe(false);
    await writeUnaccepted(store, arnOf('other'), {
      ...entry,
      execution: arnOf('other'),
      is: 'waiting',
      putAt: '2026-11-01T02:00:01.000Z',
    });
    expect([await comes('one'), await comes('other')]).toEqual([false, true]);
  });
});

describe('what was put and is not accepted', () => {
  const idOf = (day: number, content: string) => `202611${String(day).padStart(2, '0')}T020000Z-${content}`;
  const entryOf = (day: number, more: Partial<UnacceptedFile> = {}): UnacceptedFile => ({
    execution: arnOf(`${day}`),
    key,
    etag: '',
    sizeBytes: 1,
    is: 'failed',
    seenAt: '',
    putAt: `2026-11-${String(day).padStart(2, '0')}T02:00:00.000Z`,
    id: idOf(day, `0000000${day}`),
    ...more,
  });
  const listed = async (...entries: UnacceptedFile[]) => {
    const { store, write, json } = bucketFolder(temporaryFolder());
    for (const entry of entries) await writeUnaccepted(store, entry.execution ?? '', entry);
    return { store, write, json };
  };
  const order = {
    id: idOf(9, '00000009'),
    feed: 'oneroster',
    putAt: '2026-11-09T02:00:00.000Z',
    isTrial: false,
  };

  test('is missing in a later delta, however it ended; a table, what is accepted, and what came later are not', async () => {
    const ends = ['failed', 'rejected', 'undecided', 'superseded', 'replaced', 'at work', 'waiting'] as const;
    const { store } = await listed(
      ...ends.map((is, at) => entryOf(at + 1, { is })),
      entryOf(8, { is: 'refused' }),
      entryOf(3, { execution: arnOf('table'), key: 'snapshots/a.csv', id: idOf(3, 'aaaaaaaa') }),
      entryOf(3, { execution: arnOf('same'), id: idOf(3, '00000009') }),
      entryOf(2, { execution: arnOf('later'), putAt: '2026-11-10T02:00:00.000Z', id: idOf(10, 'bbbbbbbb') }),
    );
    const all = ends.map((_, at) => idOf(at + 1, `0000000${at + 1}`));
    expect(await missingBefore(store, order)).toEqual(all);
    expect(await missingBefore(store, { ...order, isTrial: true })).toEqual(all.slice(0, 5));
  });

  test.each([
    ['a delta settles itself and the same content', { id: idOf(9, '00000002'), isWhole: false }, ['1', '3']],
    ['a whole export settles all before it', { id: idOf(2, '0000000a'), isWhole: true }, ['3']],
  ])('%s', async (_, accepted, left) => {
    const { store } = await listed(entryOf(1), entryOf(2), entryOf(3));
    await settleUnaccepted(store, { ...accepted, feed: 'oneroster', refused: undefined });
    const names = (await listUnaccepted(store)).map(({ execution }) => execution?.split('/').at(-1));
    expect(names).toEqual(left);
  });

  test('a table that is accepted settles those of its feed, and the same with another ending', async () => {
    const [one, other] = ['snapshots/2026-11-01/a.csv', 'snapshots/x/a.csv'];
    const { store } = await listed(
      ...[entryOf(1, { key: one }), entryOf(2, { key: other }), entryOf(3)],
      entryOf(4, { key: 'snapshots/a.csv.gz', is: 'ignored' }),
    );
    await settleUnaccepted(store, { ...order, feed: 'a.csv', isWhole: true, refused: undefined });
    expect((await listUnaccepted(store)).map((each) => each.key)).toEqual([other, key]);
  });

  test('with refused rows is listed until a later file of its feed has none', async () => {
    const refused = { is: 'partly refused', why: 'of 120 rows of a.csv, 8 were refused' } as const;
    const key = 'snapshots/a.csv';
    const { store } = await listed(entryOf(1, { key, is: 'failed' }), entryOf(2, { key }));
    await settleUnaccepted(store, { id: idOf(2, '00000002'), feed: 'a.csv', isWhole: false, refused });
    expect(await listUnaccepted(store)).toMatchObject([{ is: 'failed', isFollowed: true }, refused]);
    expect(await missingBefore(store, { ...order, feed: 'a.csv' })).toEqual([idOf(1, '00000001')]);
    await settleUnaccepted(store, {
      id: idOf(3, '00000003'),
      feed: 'a.csv',
      isWhole: false,
      refused: undefined,
    });
    expect(await listUnaccepted(store)).toMatchObject([{ is: 'failed' }]);
  });

  test('has what version 1.0 knew of it', async () => {
    const { store, write } = await listed();
    const accepted = {
      id: idOf(1, '00000001'),
      number: 1,
      columns: {},
      by: '[]',
      holds: 'tables',
      lost: idOf(2, '00000002'),
    };
    write(acceptedKey, JSON.stringify(accepted));
    await carryLost(store);
    expect(await missingBefore(store, order)).toEqual([accepted.lost]);
    const compared = { id: idOf(4, '00000004'), against: accepted.id, lost: idOf(3, '00000003') };
    write('snapshot-records/compared.json', JSON.stringify(compared));
    await carryLost(store);
    expect(await missingBefore(store, order)).toEqual([accepted.lost, compared.lost, compared.id]);
    await settleUnaccepted(store, { ...order, isWhole: true, refused: undefined });
    expect(await store.keysUnder(unacceptedPrefix)).toEqual([]);
  });
});
