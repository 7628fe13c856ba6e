import DataLoader from 'dataloader';
import { MessageFailure } from '../../message/failure.ts';
import type { PlatformIds, SisId } from '../../message/sis-ids.ts';
import type { Platform } from '../../platform/client/client.ts';
import {
  type GradeObject,
  getGradeObjects,
  isNamed,
  listGradeObjects,
} from '../../platform/resources/grade-objects.ts';
import type { DynamoDb } from '../../runtime/aws/dynamodb.ts';
import { type CrosswalkKind, crosswalkSources } from './kinds.ts';
import {
  acceptedBucketOf,
  bucketOf,
  type CrosswalkTable,
  createCrosswalkTable,
  isAccepted,
} from './table.ts';

export type Crosswalk = ReturnType<typeof createCrosswalk>;

type Asked = {
  /** To list an org unit's grade objects. */
  platform: Platform;
  /** The message's own org unit, by the platform's id. */
  orgUnitId: number | undefined;
};

type Options = {
  /** Undefined if none is configured: then only names of grade objects can be looked up. */
  table: Pick<CrosswalkTable, 'namesIn'> | undefined;
  nowMs(): number;
};

/** The calls of the platform that a look-up may make. */
export const lookUpOperations = [getGradeObjects];

/** A container trusts what it has read for this time, in milliseconds. */
const keptMs = 600_000;
/** Maximum number of names; the one read first is forgotten. */
const maxNames = 50_000;
/** A name may be new on the platform: a list older than this is read again before the name counts as unknown. */
const recentMs = 5_000;

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
  const gradeObjects = createGradeObjects(nowMs);
  const kept = new Map<string, { ids: readonly number[]; untilMs: number }>();
  let forgottenMs = 0;
  // One request for all messages of a batch that ask at the same time.
  const buckets = new DataLoader(
    async (names: readonly string[]) => {
      const found = await table?.namesIn([...names]);
      return names.map((name) => found?.get(name));
    },
    { cache: false, maxBatchSize: 100 },
  );

  const readIds = async (kind: CrosswalkKind, sisId: SisId): Promise<readonly number[]> => {
    const { value } = sisId;
    const read = await buckets.loadMany(crosswalkSources.map((source) => bucketOf(kind, source, value)));
    const entries = read.flatMap((names) => {
      if (names instanceof Error) throw names;
      return names?.get(value) ?? [];
    });
    const ids = [...new Set(entries.flatMap((entry) => entry.ids))];
    const moves = entries.filter(({ was = [] }) => was.length > 0);
    if (moves.length === 0 || ids.length !== 1) return ids;
    const accepted = (await buckets.load(acceptedBucketOf(value)))?.get(value);
    const open = moves.find((move) => !isAccepted(move, accepted));
    if (open === undefined) return ids;
    const was = open.was ?? [];
    throw moved(sisId, was, ids);
  };

  const idsOf = async (sisId: SisId): Promise<readonly number[]> => {
    const kind = kindOf[sisId.field];
    if (kind === undefined || table === undefined) return [];
    const name = `${kind}/${sisId.value}`;
    const known = kept.get(name);
    if (known !== undefined && known.untilMs > nowMs()) return known.ids;
    const ids = await readIds(kind, sisId);
    kept.delete(name);
    if (ids.length > 0) kept.set(name, { ids, untilMs: nowMs() + keptMs });
    const [first] = kept.keys();
    if (kept.size > maxNames && first !== undefined) kept.delete(first);
    return ids;
  };

  const gradeObjectIds = async (
    { value, formerly = [] }: SisId,
    orgUnitId: number,
    platform: Platform,
  ): Promise<readonly number[]> => {
    const named = async (sinceMs: number): Promise<number[]> => {
      const all = await gradeObjects.of(orgUnitId, platform, sinceMs);
      const names = [value, ...formerly];
      return all.filter((each) => names.some((name) => isNamed(each, name))).map(({ Id }) => Id);
    };
    const ids = await named(Math.max(forgottenMs, nowMs() - listKeptMs));
    return ids.length === 1 ? ids : named(nowMs() - recentMs);
  };

  return {
    gradeObjects,
    /** @throws MessageFailure of kind `unknown-id` or `ambiguous-id`, naming the field; its detail names the id. */
    platformIds: async (sisIds: readonly SisId[], { platform, orgUnitId }: Asked): Promise<PlatformIds> => {
      const ids: Record<string, number> = {};
      const byTable = sisIds.filter(({ field }) => field !== 'gradeObjectName');
      const found = await Promise.all(byTable.map(idsOf));
      for (const [at, sisId] of byTable.entries()) ids[sisId.platformField] = onlyOne(sisId, found[at] ?? []);
      for (const sisId of sisIds) {
        const within = ids.orgUnitId ?? orgUnitId;
        if (sisId.field !== 'gradeObjectName' || within === undefined) continue;
        ids[sisId.platformField] = onlyOne(sisId, await gradeObjectIds(sisId, within, platform));
      }
      return ids;
    },
    /** Call this if the platform does not know what they stood for: the next look-up asks the table, and the platform, again. */
    forget: (sisIds: readonly SisId[]) => {
      for (const { field, value } of sisIds) kept.delete(`${kindOf[field]}/${value}`);
      forgottenMs = nowMs();
    },
  };
};

/** A list is trusted for this time: people can rename grade objects at any time. */
const listKeptMs = 60_000;
/** Maximum number of org units; the one listed first is forgotten. */
const maxOrgUnits = 1_000;

/**
 * The grade objects of org units, from their last lists. One list serves all messages of a container about an org unit, including those
 * that ask at the same time.
 */
const createGradeObjects = (nowMs: () => number) => {
  const kept = new Map<number, { atMs: number; list: Promise<readonly GradeObject[]> }>();
  return {
    /**
     * Those of an org unit, listed at `sinceMs` or later; default: at most a minute ago.
     * @throws any error of the platform's list call.
     */
    of: (orgUnitId: number, platform: Platform, sinceMs = nowMs() - listKeptMs) => {
      const known = kept.get(orgUnitId);
      if (known !== undefined && known.atMs >= sinceMs) return known.list;
      const list = Array.fromAsync(listGradeObjects(platform, orgUnitId));
      const listed = { atMs: nowMs(), list };
      kept.delete(orgUnitId);
      kept.set(orgUnitId, listed);
      const [first] = kept.keys();
      if (kept.size > maxOrgUnits && first !== undefined) kept.delete(first);
      list.catch(() => {
        if (kept.get(orgUnitId) === listed) kept.delete(orgUnitId);
      });
      return list;
    },
  };
};

const onlyOne = (sisId: SisId, ids: readonly number[]): number => {
  const [id, second] = ids;
  if (id !== undefined && second === undefined) return id;
  const { field } = sisId;
  if (id !== undefined)
    throw new MessageFailure(
      'ambiguous-id',
      `data.${field}${sisId.formerly ? ' or one of its former names' : ''} stands for ${listed(ids)} on the platform`,
      { detail: detailOf(sisId) },
    );
  const where =
    field === 'gradeObjectName' ? 'The org unit has none with this' : 'The crosswalk does not know this';
  throw new MessageFailure('unknown-id', `${where} data.${field}`, { detail: detailOf(sisId) });
};

const moved = (sisId: SisId, was: readonly number[], ids: readonly number[]): MessageFailure =>
  new MessageFailure(
    'ambiguous-id',
    `data.${sisId.field} stood for ${listed(was)}, and now stands for ${listed(ids)}`,
    {
      detail: detailOf(sisId),
      remedy:
        'Check whether the code has permanently moved to another org unit (`sis-relay crosswalk moved`). If so, accept the move (`sis-relay crosswalk accept <code>`) and replay. If not, correct the code on the platform.',
    },
  );

const detailOf = ({ field, value }: SisId): string => `${field} ${value}`;

const listed = (ids: readonly number[]): string => {
  const shown = ids.slice(0, 5);
  const last = ids.length > shown.length ? `${ids.length - shown.length} more` : shown.pop();
  return shown.length === 0 ? `${last}` : `${shown.join(', ')} and ${last}`;
};
