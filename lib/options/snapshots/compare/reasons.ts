import { countOf } from '../count-of.ts';
import { declarationOf, type FeedPatterns, feedOf, isNumberedLike, isTable } from '../feed.ts';
import { type AcceptedSnapshot, contentMarkIn } from '../state/record.ts';
import { listUnaccepted } from '../state/unaccepted.ts';
import type { Comparison, OtherFile } from './comparison.ts';
import { sourceOf } from './others.ts';
import { hasRows } from './statements.ts';

/**
 * An old file that is put again takes back what later files changed. A time at midnight may be a day without a time, so it counts to the
 * end of that day. An export whose latest change is old may be new all the same: its latest row may have been deleted. It is older only if
 * it changes something by a time that is not later than the accepted one, or has older rows than were accepted and lacks later ones.
 */
export const reasonsOfAge = async (
  { saidMs, db, snapshotId: id }: Comparison,
  last: AcceptedSnapshot | undefined,
): Promise<string[]> => {
  const same = last?.contents?.slice(0, -1).findLast((each) => contentMarkIn(each) === contentMarkIn(id));
  if (same !== undefined && contentMarkIn(last?.id ?? '') !== contentMarkIn(id))
    return [`the same file was accepted before as ${same}, and others after it`];
  if (saidMs === undefined || last?.saidMs === undefined) return [];
  const untilMs = saidMs % dayMs === 0 ? saidMs + dayMs - 1 : saidMs;
  if (untilMs >= last.saidMs) return [];
  const [takesBack] =
    (await db.row<[number]>(
      `SELECT EXISTS (FROM difference WHERE is_claimed AND change IN ('created', 'updated') AND said_at_ms <= $1)
         OR (EXISTS (FROM older_claims) AND EXISTS (FROM difference WHERE change = 'removed' AND said_at_ms > $2))`,
      [last.saidMs, untilMs],
    )) ?? [];
  if (!takesBack) return [];
  return [
    `its latest change is of ${instantOf(saidMs)}, but a change of ${instantOf(last.saidMs)} was accepted before: the file is older`,
  ];
};

const dayMs = 24 * 3_600_000;
const instantOf = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

export const reasonsOfNames = ({ nameMoves: { names, claims, people, orgUnits } }: Comparison): string[] =>
  names === 0 || claims === 0
    ? []
    : [
        `${countOf(names, 'name stands', 'names stand')} for another org unit or user than when ${names === 1 ? 'it was' : 'they were'} accepted: ${countOf(claims, 'enrollment or grade', 'enrollments and grades')} of ${countOf(people, 'user')} in ${countOf(orgUnits, 'org unit')} ${claims === 1 ? 'moves' : 'move'}`,
      ];

/** So many enrollments in common are no chance. */
const minShared = 10;
const sharedShare = 0.8;

/**
 * The first file of a feed may be the next one of another: its name has another date or number, or it wants the same. Nothing would be
 * compared, and nothing removed. What the settings declare is a feed of its own.
 */
export const reasonsOfFeed = async (comparison: Comparison, declared: FeedPatterns): Promise<string[]> => {
  const { feed, hasBefore, isEnd, isDeclared, others } = comparison;
  if (hasBefore || isEnd || isDeclared) return [];
  const alike = others.filter((other) => isTable(other.feed) === isTable(feed));
  const other =
    alike.find((each) => isNumberedLike(each.feed, feed)) ?? (await wantingTheSame(comparison, alike));
  if (other === undefined) return [];
  const put = await listUnaccepted(comparison.store);
  const known = [...others.map((each) => each.feed), ...put.map(feedOf)];
  const proposed = declarationOf(feed, other.feed, { known, declared });
  const declaration = JSON.stringify({ feeds: { ...declared, ...proposed } });
  return [
    `it is the first file of ${feed}, but looks like the next file of ${other.feed}, with which it was not compared. If it is that, reject it, declare ${declaration.slice(1, -1)} in snapshot-settings.json, and put it again. If ${feed} is a feed of its own, approve it`,
  ];
};

const wantingTheSame = async (
  { db }: Comparison,
  alike: readonly OtherFile[],
): Promise<OtherFile | undefined> => {
  if (!(await hasRows(db, 'other_claims'))) return undefined;
  await db.run(
    `CREATE TABLE enrollments_here AS SELECT DISTINCT enrollment_in(kind_name, key) AS enrollment FROM claims WHERE is_about_enrollment(kind_name)`,
  );
  const found = await db.all<[string, number, number, number]>(
    `SELECT source_file, count(DISTINCT enrollment), count(DISTINCT enrollment) FILTER (is_here), any_value(here)
     FROM (SELECT o.source_file, o.enrollment, d.enrollment IS NOT NULL AS is_here, (SELECT count(*) FROM enrollments_here) AS here
       FROM other_claims o LEFT JOIN enrollments_here d USING (enrollment)) GROUP BY source_file`,
  );
  const [source] =
    found.find(
      ([, there, shared, here]) =>
        shared >= minShared && shared >= sharedShare * there && shared >= sharedShare * here,
    ) ?? [];
  return alike.find((each) => sourceOf(each) === source);
};
