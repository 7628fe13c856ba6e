import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { movedKey } from '../../../../lib/crosswalk/moved.ts';
import {
  bucketOf,
  type CrosswalkTable,
  createCrosswalkTable,
  type NameEntry,
} from '../../../../lib/crosswalk/table.ts';
import { linesOf } from '../../../../lib/desk/cli/print/view.ts';
import type { OperatorContext } from '../../../../lib/desk/operator-actions/operator-context.ts';
import { acceptMove, listMoved, showName } from '../../../../lib/options/crosswalk-fill/desk/names.ts';
import { acceptCode } from '../../../../lib/options/crosswalk-fill/desk/operator-actions.ts';
import { movedView } from '../../../../lib/options/crosswalk-fill/desk/view.ts';
import { openOffice, startServer } from '../../../lib/desk/cli/office.ts';
import { quietTerminal } from '../../../lib/desk/cli/typed.ts';
import { localClient } from '../../../local/aws/aws.ts';

let server: Awaited<ReturnType<typeof startServer>>;
let office: Awaited<ReturnType<typeof openOffice>>;
let table: CrosswalkTable;

beforeAll(async () => {
  server = await startServer();
});
beforeEach(async () => {
  office = await openOffice(server);
  const { dynamodb, crosswalkTable = '' } = office.target;
  table = createCrosswalkTable({ dynamodb, table: crosswalkTable, nowMs: Date.now });
  await moved('platform', []);
  await moved('file', []);
});
afterAll(() => server.close());

const know = (source: 'platform' | 'file', code: string, entry: NameEntry) =>
  table.put([{ bucket: bucketOf('orgUnitCode', source, code), entries: new Map([[code, entry]]) }]);
const moved = (source: 'platform' | 'file', codes: object[]) =>
  server.s3.send(
    new PutObjectCommand({ Bucket: office.bucket, Key: movedKey(source), Body: JSON.stringify({ codes }) }),
  );
const accept = (code: string, agree = true) =>
  acceptMove(office.target, { code, audit: office.audit, reason: 'meant', confirm: async () => agree });

test('a name is shown by each source that knows it, with when it was filled', async () => {
  await know('platform', 'MATH-101', { ids: [200] });
  await know('file', 'MATH-101', { ids: [200, 201] });
  await table.noteFill('orgUnitCode/platform', { filledMs: 5, names: 1 });
  const shown = await showName(office.target, { kind: 'orgUnitCode', name: 'MATH-101' });
  expect(shown).toMatchObject([
    { source: 'platform', ids: [200], accepted: undefined, filled: { filledMs: 5, names: 1 } },
    { source: 'file', ids: [200, 201], filled: undefined },
  ]);
  expect(await showName(office.target, { kind: 'userName', name: 'MATH-101' })).toEqual([]);
});

describe('a move', () => {
  test('is listed until it is accepted, which the audit log tells', async () => {
    const [first, second] = [
      { code: 'MATH-101', ids: [200], was: [100], sinceMs: 2 },
      { code: 'BIO-1', ids: [7], was: [8], sinceMs: 1 },
    ];
    await know('platform', 'MATH-101', { ids: [200], was: [100] });
    await moved('platform', [first]);
    await moved('file', [second]);
    expect(await listMoved(office.target)).toEqual({
      moved: [
        { ...second, source: 'file' },
        { ...first, source: 'platform' },
      ],
      untold: [],
    });
    expect(await accept('MATH-101', false)).toBeUndefined();
    const declines = { ...office, show: () => {}, ask: async () => undefined } as unknown as OperatorContext;
    expect(await acceptCode(declines, { code: 'MATH-101', reassignedNames: undefined })).toBeUndefined();
    expect(office.audited).toEqual([]);
    expect(await accept('MATH-101')).toMatchObject({ ids: [200], accepted: true });
    expect(office.audited).toMatchObject([
      {
        audit: 'begin',
        command: 'crosswalk accept',
        reason: 'meant',
        filter: { code: 'MATH-101', ids: [200], was: [100] },
      },
      { audit: 'end', counts: { accepted: 1 } },
    ]);
    expect(await listMoved(office.target)).toMatchObject({ moved: [{ code: 'BIO-1' }] });
    await expect(accept('MATH-101')).rejects.toThrow(
      'The code MATH-101 has no move that waits to be accepted',
    );
  });

  test.each<[string, NameEntry | undefined, string]>([
    ['that nobody knows', undefined, 'The crosswalk knows no org unit with the code'],
    ['that was none', { ids: [1] }, 'has no move that waits'],
    ['to two org units', { ids: [1, 2], was: [3] }, 'stands for the org units 1 and 2'],
  ])('%s cannot be accepted', async (_, entry, says) => {
    if (entry) await know('platform', 'CODE', entry);
    await expect(accept('CODE')).rejects.toThrow(says);
  });

  test.each(['NoSuchKey', 'AccessDenied'])(
    'is not told of yet where the object of a source is answered by %s',
    async (name) => {
      const first = { code: 'MATH-102', ids: [200], was: [100], sinceMs: 2 };
      await moved('platform', [first]);
      const s3 = new S3Client({ ...localClient(server.url), forcePathStyle: true });
      s3.middlewareStack.add(
        (next) => (args) =>
          JSON.stringify(args.input).includes(movedKey('file'))
            ? Promise.reject(Object.assign(new Error('refused'), { name }))
            : next(args),
        { step: 'initialize' },
      );
      const listed = await listMoved({ ...office.target, s3: async () => s3 });
      s3.destroy();
      expect(listed).toEqual({ moved: [{ ...first, source: 'platform' }], untold: ['file'] });
      expect(linesOf(movedView({ ...listed, moved: [] }), quietTerminal).join(' ')).toMatch(
        /No fill of the crosswalk from the file in crosswalk\/ has reported moves yet/,
      );
    },
  );

  test('that two sources tell differently cannot be accepted', async () => {
    await know('platform', 'CODE', { ids: [1], was: [3] });
    await know('file', 'CODE', { ids: [2], was: [3] });
    await expect(accept('CODE')).rejects.toThrow('different moves of CODE');
  });
});
