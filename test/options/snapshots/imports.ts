import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { examine } from '../../../lib/options/snapshots/examine.ts';
import { feedFor } from '../../../lib/options/snapshots/feed.ts';
import { feedPatternsIn, settingsKey } from '../../../lib/options/snapshots/package/settings-file.ts';
import { acceptSnapshot, adoptable } from '../../../lib/options/snapshots/state/accepted-snapshot.ts';
import {
  acceptedKeyOf,
  changesKey,
  recordKey,
  reportKey,
  type SnapshotRecord,
} from '../../../lib/options/snapshots/state/record.ts';
import { loadIntegrations } from '../../../lib/stage/integrations.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { bucketFolder } from './bucket-folder.ts';

const integrations = await loadIntegrations();

export type Body = {
  id: string;
  type: string;
  time: string;
  sequence: string;
  data: Record<string, unknown>;
};

export const startMs = Date.parse('2026-11-01T02:00:00Z');
/** When what belongs to a night is dropped. */
export const dropMs = (night: number): number => startMs + night * 86_400_000;

type Bucket = ReturnType<typeof bucketFolder>;
type Drop = {
  key: string;
  content: string | Buffer;
  droppedMs: number;
  /** A person approves of whatever needs that. */
  isApproved?: boolean;
  /** No file is put: the feed of this key is ended. */
  isEnd?: true | undefined;
};

/** Imports what is dropped: it is accepted, unless a person must look, or the import is over. */
export const importDropped = async (
  bucket: Bucket,
  { key, content, droppedMs, isApproved = false, isEnd }: Drop,
) => {
  if (!isEnd) bucket.write(key, content);
  const { store } = bucket;
  const declared = feedPatternsIn(await store.textIfAny(settingsKey));
  const feed = feedFor(key, declared);
  const before = await adoptable(store, feed, declared);
  if (before !== undefined) {
    await store.writeJson(acceptedKeyOf(feed), before.json);
    await store.remove(before.from);
  }
  const services = { store, integrations, limits: { eventsPerPart: 100 } };
  const examined = await examine(
    { key, feed, etag: '', droppedMs, ...(isEnd && { isEnd }) },
    { services, startedAt: 'now' },
  );
  const { id = '' } = examined;
  const record = (): SnapshotRecord => bucket.json(recordKey(id)) as SnapshotRecord;
  if (examined.is === 'over') return { examined, id, record, report: [] as string[], bodies: [] as Body[] };
  if (isApproved || examined.reasons.length === 0) await acceptSnapshot(store, feed, examined.accepted);
  const packed = readFileSync(bucket.at(changesKey(id)));
  const events = packed.length === 0 ? [] : `${gunzipSync(packed)}`.split('\n').filter(Boolean);
  const [, ...report] = readFileSync(bucket.at(reportKey(id)), 'utf8')
    .trimEnd()
    .split('\n');
  return { examined, id, record, report, bodies: events.map((line) => JSON.parse(line) as Body) };
};

/** The same of what must not be over. */
export const importedOf = async (bucket: Bucket, drop: Drop) => {
  const { examined, record, ...imported } = await importDropped(bucket, drop);
  if (examined.is === 'over') throw new Error(examined.message);
  const { reasons, accepted } = examined;
  return { ...imported, reasons, accepted, record: record() };
};

/** Imports into one bucket, a night each. */
export const newImports = (settings: object = {}) => {
  const bucket = bucketFolder(temporaryFolder());
  const set = (more: object) =>
    bucket.write(
      'snapshot-settings.json',
      JSON.stringify({ roles: { student: 110, teacher: 109 }, maxRemovalsPercent: 100, ...more }),
    );
  set(settings);
  let last = 0;
  const drop = (content: string | Buffer, key = 'snapshots/export.zip', night = last + 1) => {
    last = night;
    return importedOf(bucket, { key, content, droppedMs: dropMs(night) });
  };
  return { bucket, set, drop };
};

/** What a platform holds by all that was sent: of each enrollment and grade, whatever is newest. `people`: users by their ids. */
export const newHeld = (people: ReadonlyMap<unknown, string> = new Map()) => {
  const held = new Map<string, { at: string; value: string | undefined }>();
  const take = ({ type, time, sequence, data }: Body): void => {
    if (type.includes('grade-object')) return;
    const who = `${data.userName ?? data.orgDefinedId ?? people.get(data.userId)}`;
    const what = data.gradeObjectName === undefined ? '' : `/${data.gradeObjectName}`;
    const key = `${data.orgUnitCode}${what} ${who}`;
    const at = `${time} ${sequence.padStart(6, '0')}`;
    const { points, text } = (data.grade ?? {}) as { points?: number; text?: string };
    if ((held.get(key)?.at ?? '') <= at)
      held.set(key, { at, value: type.includes('remove') ? undefined : `${data.roleId ?? points ?? text}` });
  };
  return {
    take,
    all: (): string[] =>
      [...held].flatMap(([key, { value }]) => (value === undefined ? [] : `${key} ${value}`)).sort(),
  };
};
