import DataLoader from 'dataloader';
import { MessageFailure } from '../message/failure.ts';
import { type SafeText, safe, safeList } from '../message/safe-text.ts';
import type { PlatformIds, SisId } from '../message/sis-ids.ts';
import type { Platform } from '../platform/client/client.ts';
import { type GradeObject, getGradeObjects, isNamed } from '../platform/resources/grade-objects.ts';
import type { DynamoDb } from '../runtime/aws/dynamodb.ts';
import { createGradeObjectLists, type GradeObjectLists } from './grade-object-lists.ts';
import { type CrosswalkKind, crosswalkSources } from './kinds.ts';
import { candidatesFor, type NearName, nearestOf } from './near-names.ts';
import {
  acceptedBucketOf,
  bucketOf,
  type CrosswalkTable,
  createCrosswalkTable,
  isAccepted,
  maxIds,
} from './table.ts';
import { detailOf, noCrosswalk, unknownGradeObject, unknownName } from './unknown-id.ts';

export type Crosswalk = ReturnType<typeof createCrosswalk>;

type LookUpRequest = {
  /** To list an org unit's grade objects. */
  platform: Platform;
  /** The message's own org unit, by the platform's id. */
  orgUnitId: number | undefined;
  /** When the message was sent. What was looked up before then is not used: names pass to others. */
  sentMs: number;
};

/** What a name stands for: not all of many ids are known, but their number. */
type Meaning = { ids: readonly number[]; count: number };

const meaningOfAll = (ids: readonly number[]): Meaning => ({ ids, count: ids.length });

type Options = {
  /** Undefined if none is configured: then only names of grade objects can be looked up. */
  table: Pick<CrosswalkTable, 'namesIn' | 'fills'> | undefined;
  nowMs(): number;
};

/** The calls of the platform that a look-up may make. */
export const lookUpOperations = [getGradeObjects];

/** A container trusts what it has read for this time, for messages that were sent before. */
const keptMs = 600_000;
/** So many unknown names are searched for what is near them, in the time for which names are trusted. */
const maxNears = 20;
/** Maximum number of names; the one read first is forgotten. */
const maxNames = 50_000;

const kindOf: Readonly<Record<string, CrosswalkKind>> = {
  orgUnitCode: 'orgUnitCode',
  fromParentCode: 'orgUnitCode',
  toParentCode: 'orgUnitCode',
  userName: 'userName',
  orgDefinedId: 'orgDefinedId',
};

export const crosswalkOn = (table: string | undefined, dynamodb: DynamoDb): Crosswalk =>
  createCrosswalk({
    table: table === undefined ? undefined : createCrosswalkTable({ dynamodb, table, nowMs: Date.now }),
    nowMs: Date.now,
  });

export const createCrosswalk = ({ table, nowMs }: Options) => {
  const gradeObjects = createGradeObjectLists(nowMs);
  const kept = new Map<string, { meaning: Meaning; readMs: number }>();
  // One request for all messages of a batch that ask at the same time.
  const buckets = new DataLoader(
    async (names: readonly string[]) => {
      const found = await table?.namesIn([...names]);
      return names.map((name) => found?.get(name));
    },
    { cache: false, maxBatchSize: 100 },
  );

  const readMeaning = async (kind: CrosswalkKind, sisId: SisId): Promise<Meaning> => {
    const { value } = sisId;
    const read = await buckets.loadMany(crosswalkSources.map((source) => bucketOf(kind, source, value)));
    const entries = read.flatMap((names) => {
      if (names instanceof Error) throw names;
      return names?.get(value) ?? [];
    });
    const ids = [...new Set(entries.flatMap((entry) => entry.ids))];
    // Both sources may mean the same ones.
    const count = Math.max(ids.length, ...entries.map((entry) => entry.ids.length + (entry.more ?? 0)));
    const moves = entries.filter(({ was = [] }) => was.length > 0);
    if (moves.length === 0 || ids.length !== 1) return { ids, count };
    const accepted = (await buckets.load(acceptedBucketOf(value)))?.get(value);
    const open = moves.find((move) => !isAccepted(move, accepted));
    if (open === undefined) return { ids, count };
    const was = open.was ?? [];
    throw moved(sisId, was, ids);
  };

  const meaningOf = async (sisId: SisId, sentMs: number): Promise<Meaning> => {
    const kind = kindOf[sisId.field];
    if (kind === undefined || table === undefined) return meaningOfAll([]);
    const name = `${kind}/${sisId.value}`;
    const known = kept.get(name);
    const readMs = nowMs();
    if (known !== undefined && known.readMs >= Math.max(sentMs, readMs - keptMs)) return known.meaning;
    const meaning = await readMeaning(kind, sisId);
    kept.delete(name);
    if (meaning.count > 0) kept.set(name, { meaning, readMs });
    const [first] = kept.keys();
    if (kept.size > maxNames && first !== undefined) kept.delete(first);
    return meaning;
  };

  /** What was found near unknown names; the table is searched for few of them, as each takes some hundred names. */
  const nears = new Map<string, { near: Promise<NearName | undefined>; readMs: number }>();
  const nearTo = (kind: CrosswalkKind, value: string): Promise<NearName | undefined> => {
    const key = `${kind}/${value}`;
    for (const [each, { readMs }] of nears) if (readMs < nowMs() - keptMs) nears.delete(each);
    const known = nears.get(key)?.near;
    if (known !== undefined || nears.size >= maxNears) return known ?? Promise.resolve(undefined);
    const near = searchNear(kind, value).catch(() => undefined);
    nears.set(key, { near, readMs: nowMs() });
    return near;
  };
  const searchNear = async (kind: CrosswalkKind, value: string): Promise<NearName | undefined> => {
    const names = candidatesFor(value);
    const bucketsFor = (name: string) => crosswalkSources.map((source) => bucketOf(kind, source, name));
    const found = await table?.namesIn(names.flatMap(bucketsFor));
    return nearestOf(
      value,
      names.filter((name) => bucketsFor(name).some((bucket) => found?.get(bucket)?.has(name))),
    );
  };

  const unknown = async (sisId: SisId): Promise<MessageFailure> => {
    const kind = kindOf[sisId.field];
    if (kind === undefined || table === undefined) return noCrosswalk(sisId);
    const fills = table.fills().catch(() => undefined);
    return unknownName(sisId, { kind, fills: await fills, near: await nearTo(kind, sisId.value) });
  };

  return {
    gradeObjects,
    /** @throws MessageFailure of kind `unknown-id` or `ambiguous-id`, naming the field; its detail names the id. */
    platformIds: async (sisIds: readonly SisId[], request: LookUpRequest): Promise<PlatformIds> => {
      const ids: Record<string, number> = {};
      const byTable = sisIds.filter(({ field }) => field !== 'gradeObjectName');
      const found = await Promise.all(byTable.map((sisId) => meaningOf(sisId, request.sentMs)));
      for (const [at, sisId] of byTable.entries())
        ids[sisId.platformField] =
          onlyOne(sisId, found[at] ?? meaningOfAll([])) ?? raise(await unknown(sisId));
      for (const sisId of sisIds) {
        const within = ids.orgUnitId ?? request.orgUnitId;
        if (sisId.field !== 'gradeObjectName' || within === undefined) continue;
        ids[sisId.platformField] = await gradeObjectIdIn(gradeObjects, sisId, {
          ...request,
          orgUnitId: within,
        });
      }
      return ids;
    },
    /** Call this if the platform does not know what they stood for: the next look-up asks the table, and the platform, again. */
    forget: (sisIds: readonly SisId[]) => {
      for (const { field, value } of sisIds) kept.delete(`${kindOf[field]}/${value}`);
      gradeObjects.forget();
    },
  };
};

type Within = LookUpRequest & { orgUnitId: number };

const gradeObjectIdIn = async (
  lists: GradeObjectLists,
  sisId: SisId,
  { orgUnitId, ...asked }: Within,
): Promise<number> => {
  const names = [sisId.value, ...(sisId.formerly ?? [])];
  const idsIn = (all: readonly GradeObject[]): number[] =>
    all.filter((each) => names.some((name) => isNamed(each, name))).map(({ Id }) => Id);
  const all = await lists.of(orgUnitId, asked, (listed) => idsIn(listed).length === 1);
  return (
    onlyOne(sisId, meaningOfAll(idsIn(all))) ??
    raise(
      unknownGradeObject(sisId, {
        orgUnitId,
        listed: all.length,
        near: nearestOf(
          sisId.value,
          all.map(({ Name }) => Name),
        ),
      }),
    )
  );
};

const raise = (error: Error): never => {
  throw error;
};

/** Undefined if there is none. @throws MessageFailure of kind `ambiguous-id`. */
const onlyOne = (sisId: SisId, meaning: Meaning): number | undefined => {
  const [id, second] = meaning.ids;
  if (second === undefined) return id;
  throw new MessageFailure(
    'ambiguous-id',
    safe`data.${sisId.field}${sisId.formerly ? ' or one of its former names' : ''} stands for ${listed(meaning)} on the platform`,
    { detail: detailOf(sisId) },
  );
};

const moved = (sisId: SisId, was: readonly number[], ids: readonly number[]): MessageFailure =>
  new MessageFailure(
    'ambiguous-id',
    safe`data.${sisId.field} stood for ${listed(meaningOfAll(was))}, and now stands for ${listed(meaningOfAll(ids))}`,
    {
      detail: detailOf(sisId),
      remedy:
        'Check whether the code has permanently moved to another org unit (`sis-relay crosswalk moved`). If so, accept the move (`sis-relay crosswalk accept <code>`) and replay. If not, correct the code on the platform.',
    },
  );

const listed = ({ ids, count }: Meaning): SafeText => {
  const shown = ids.slice(0, maxIds);
  const last = count > shown.length ? safe`${count - shown.length} more` : safe`${shown.pop() ?? 0}`;
  return shown.length === 0 ? last : safe`${safeList(shown.map((id) => safe`${id}`))} and ${last}`;
};
