import { counted } from '../counted.ts';
import { type AcceptedSnapshot, contentOf } from '../state/record.ts';
import type { Comparison } from './comparison.ts';

/**
 * A file of before, put again, takes back what later ones changed. A time at midnight may be a day alone, and counts to its end. An
 * export may also lack the latest row because that was deleted: it is older only if it changes something by a time of before, or has rows
 * of before and lacks later ones.
 */
export const reasonsOfAge = async (
  { saidMs, sets, snapshotId: id }: Comparison,
  last: AcceptedSnapshot | undefined,
): Promise<string[]> => {
  const same = last?.contents?.slice(0, -1).findLast((each) => contentOf(each) === contentOf(id));
  if (same !== undefined && contentOf(last?.id ?? '') !== contentOf(id))
    return [`the same file was accepted before as ${same}, and others after it`];
  if (saidMs === undefined || last?.saidMs === undefined) return [];
  const untilMs = saidMs % dayMs === 0 ? saidMs + dayMs - 1 : saidMs;
  if (untilMs >= last.saidMs) return [];
  const [takesBack] =
    (await sets.row<[number]>(
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
        `${counted(names, 'name stands', 'names stand')} for another org unit or user than when ${names === 1 ? 'it was' : 'they were'} accepted: ${counted(claims, 'enrollment or grade', 'enrollments and grades')} of ${counted(people, 'user')} in ${counted(orgUnits, 'org unit')} ${claims === 1 ? 'moves' : 'move'}`,
      ];
