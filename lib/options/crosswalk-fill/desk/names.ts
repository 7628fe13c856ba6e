import { type CrosswalkKind, type CrosswalkSource, crosswalkSources } from '../../../crosswalk/kinds.ts';
import { movedIn, movedKey } from '../../../crosswalk/moved.ts';
import {
  acceptedBucketOf,
  bucketOf,
  type CrosswalkTable,
  createCrosswalkTable,
  isAccepted,
  type LastFill,
  type NameEntry,
  sameIds,
} from '../../../crosswalk/table.ts';
import { reviewBucketOf } from '../../../desk/stage-state/bucket.ts';
import { audited } from '../../../desk/stage-state/execution.ts';
import { unlessError } from '../../../runtime/aws/error.ts';
import type { Audit } from '../../../stage/audit.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { Target } from '../../../stage/target.ts';
import { type HeldNames, heldIn, heldKey } from '../held-names.ts';

/** What one source says that a name stands for. */
export type ShownName = NameEntry & {
  kind: CrosswalkKind;
  name: string;
  source: CrosswalkSource;
  /** Whether an operator has accepted that it moved; undefined: it did not move. */
  accepted: boolean | undefined;
  /** When this entry, or another one of its name, was last written. */
  writtenMs: number | undefined;
  /** When all names of the kind were last filled from this source. */
  filled: LastFill | undefined;
};

export type MovedCode = {
  code: string;
  source: CrosswalkSource;
  ids: number[];
  was: number[];
  sinceMs: number;
};

const tableOf = ({ dynamodb, crosswalkTable }: Target): CrosswalkTable => {
  if (crosswalkTable === undefined) throw new RefusedError('This deployment has no crosswalk.');
  return createCrosswalkTable({ dynamodb, table: crosswalkTable, nowMs: Date.now });
};

/** What each source says that a name stands for. */
export const showName = async (
  target: Target,
  { kind, name }: { kind: CrosswalkKind; name: string },
): Promise<ShownName[]> => {
  const table = tableOf(target);
  const places = crosswalkSources.map((source) => ({ source, bucket: bucketOf(kind, source, name) }));
  const acceptedBucket = acceptedBucketOf(name);
  const found = await table.namesIn([...places.map(({ bucket }) => bucket), acceptedBucket]);
  const fills = await table.fills();
  const accepted = found.get(acceptedBucket)?.get(name);
  const shown = await Promise.all(
    places.map(async ({ source, bucket }): Promise<ShownName[]> => {
      const entry = found.get(bucket)?.get(name);
      if (entry === undefined) return [];
      return [
        {
          kind,
          name,
          source,
          ...entry,
          accepted: entry.was === undefined ? undefined : isAccepted(entry, accepted),
          writtenMs: await table.writtenMs(bucket),
          filled: fills.get(`${kind}/${source}`),
        },
      ];
    }),
  );
  return shown.flat();
};

export type MovedCodes = {
  moved: MovedCode[];
  /** The sources without a record of a fill, or with one that cannot be read. */
  untold: CrosswalkSource[];
};

/** Codes that stand for another org unit than before, as the last fill found them, unless an operator has accepted that. */
export const listMoved = async (target: Target): Promise<MovedCodes> => {
  const table = tableOf(target);
  const lists = await Promise.all(
    crosswalkSources.map(async (source) => ({ source, json: await readJson(target, movedKey(source)) })),
  );
  const all = lists.flatMap(({ source, json }) => movedIn(json).codes.map((each) => ({ ...each, source })));
  const accepted = await table.namesIn(all.map(({ code }) => acceptedBucketOf(code)));
  return {
    moved: all
      .filter((each) => !isAccepted(each, accepted.get(acceptedBucketOf(each.code))?.get(each.code)))
      .sort((one, other) => one.sinceMs - other.sinceMs),
    untold: lists.flatMap(({ source, json }) => (json === undefined ? [source] : [])),
  };
};

export type HeldName = HeldNames['held'][number];

/** Names that stay as they were until a person has looked, as the last fill found them. */
export const listHeld = async (target: Target): Promise<HeldName[]> =>
  heldIn(await readJson(target, heldKey)).held;

type AcceptOptions = {
  code: string;
  reason?: string | undefined;
  audit: Audit;
  confirm(moved: ShownName): Promise<boolean>;
};

/** Accepts that a code stands for another org unit; undefined: the operator declined. @throws RefusedError if it has not moved. */
export const acceptMove = async (
  target: Target,
  { code, reason, audit, confirm }: AcceptOptions,
): Promise<ShownName | undefined> => {
  const shown = await showName(target, { kind: 'orgUnitCode', name: code });
  const open = shown.filter(({ accepted }) => accepted === false);
  const [moved, other] = open;
  if (moved === undefined)
    throw new RefusedError(
      shown.length === 0
        ? `The crosswalk knows no org unit with the code ${code}. Codes are exact, upper and lower case included.`
        : `The code ${code} has no move that waits to be accepted. \`crosswalk moved\` lists those that do.`,
    );
  if (moved.ids.length !== 1)
    throw new RefusedError(
      `${code} stands for the org units ${moved.ids.join(' and ')}. Only one of them may have it: correct the code on the platform.`,
    );
  if (other !== undefined && !(sameIds(moved.ids, other.ids) && sameIds(moved.was ?? [], other.was ?? [])))
    throw new RefusedError(
      `The platform and crosswalk/org-units.csv report different moves of ${code}. Correct one of them.`,
    );
  if (!(await confirm(moved))) return undefined;
  const { ids, was = [] } = moved;
  const entry = { reason, counts: { planned: 1 }, filter: { code, ids, was }, done: 'accepted' };
  await audited(audit, { command: 'crosswalk accept', ...entry }, () =>
    tableOf(target).accept(code, { ids, was }),
  );
  return { ...moved, accepted: true };
};

/** Without the right to list the bucket, S3 answers AccessDenied for a missing object. */
const readJson = async (target: Target, key: string): Promise<unknown> => {
  const { jsonIfAny } = await reviewBucketOf(target);
  return unlessError(/^AccessDenied$/, () => jsonIfAny(key));
};
