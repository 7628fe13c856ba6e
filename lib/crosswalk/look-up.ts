import { MessageFailure } from '../message/failure.ts';
import { safe } from '../message/safe-text.ts';
import type { PlatformIds, SisId } from '../message/sis-ids.ts';
import type { Platform } from '../platform/client/client.ts';
import { type GradeObject, getGradeObjects, isNamed } from '../platform/resources/grade-objects.ts';
import type { DynamoDb } from '../runtime/aws/dynamodb.ts';
import { createGradeObjectLists, type GradeObjectLists } from './grade-object-lists.ts';
import { kindOfField } from './kinds.ts';
import { listed, type Meaning, Meanings, meaningOfAll } from './meanings.ts';
import { NearNameSearch } from './near-name-search.ts';
import { nearestOf } from './near-names.ts';
import { type CrosswalkTable, createCrosswalkTable } from './table.ts';
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

type Options = {
  /** Undefined if none is configured: then only names of grade objects can be looked up. */
  table: Pick<CrosswalkTable, 'namesIn' | 'fills'> | undefined;
  nowMs(): number;
};

/** The calls of the platform that a look-up may make. */
export const lookUpOperations = [getGradeObjects];

export const crosswalkOn = (table: string | undefined, dynamodb: DynamoDb): Crosswalk =>
  createCrosswalk({
    table: table === undefined ? undefined : createCrosswalkTable({ dynamodb, table, nowMs: Date.now }),
    nowMs: Date.now,
  });

export const createCrosswalk = ({ table, nowMs }: Options) => {
  const gradeObjects = createGradeObjectLists(nowMs);
  const tabled = table && {
    fills: () => table.fills(),
    meanings: new Meanings({ table, nowMs }),
    nearNames: new NearNameSearch({ table, nowMs }),
  };

  const meaningOf = async (sisId: SisId, sentMs: number): Promise<Meaning> => {
    const kind = kindOfField[sisId.field];
    return kind && tabled ? tabled.meanings.of(kind, sisId, sentMs) : meaningOfAll([]);
  };

  const unknown = async (sisId: SisId): Promise<MessageFailure> => {
    const kind = kindOfField[sisId.field];
    if (kind === undefined || tabled === undefined) return noCrosswalk(sisId);
    const fills = await tabled.fills().catch(() => undefined);
    return unknownName(sisId, { kind, fills, near: await tabled.nearNames.nearTo(kind, sisId.value) });
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
      for (const sisId of sisIds) {
        const kind = kindOfField[sisId.field];
        if (kind) tabled?.meanings.forget(kind, sisId);
      }
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
