import type { SnapshotRecord } from '../../../lib/options/snapshots/state/record.ts';
import { type Body, newHeld, newImports } from './imports.ts';
import { entriesOfSis, type Rows, type Sis, smallSis, zipOf } from './sis.ts';

/** What was told about a university until after a night, or in it. */
export type NightlyFacts = {
  /** As `BIO-101 ada 110`, `BIO-101/Essay ada 17.5`. */
  held(night: number): string[];
  bodies(night: number): Body[];
  /** As `enrollment-create BIO-101 ada 110`, `grade-push BIO-101 Essay ada 17.5`. */
  sent(night: number): string[];
  /** Of its rows, as `enrollments userSourcedId is not an id`. */
  refused(night: number): string[];
};
export type University = {
  title: string;
  /** A whole export holds until the next; a delta that is not named has no row. */
  exports: (sis: Required<Sis>) => Record<number, Sis>;
  expected: (told: NightlyFacts) => void;
};

/** `owners`: the mark of each row, by its file and line, as `users 2`. */
type Night = {
  id: string;
  bodies: Body[];
  held: string[];
  report: string[];
  owners: Map<string, string>;
  record: SnapshotRecord;
  reasons: string[];
};

/**
 * Small universities that share one export a night, as an import costs as much for one of them as for all: the names of each begin with
 * its mark. An export has all rows, and in the nights of `deltas` only what has changed.
 */
export const newUniversities = (universities: readonly University[], deltas: readonly number[]) => {
  const markOf = (university: University): string => `${universities.indexOf(university)}:`;
  const { drop, bucket } = newImports({ maxChangesPercent: 100 });
  const whole = new Map(universities.map((university) => [university, smallSis()]));
  const platform = newHeld();
  const nights = new Map<number, Night>();
  const at = (night: number): Night => {
    const found = nights.get(night);
    if (found === undefined) throw new Error(`nothing is dropped in night ${night}`);
    return found;
  };

  const exportOf = async (night: number) => {
    const isDelta = deltas.includes(night);
    const sis: Sis = {};
    const owners: Night['owners'] = new Map();
    for (const university of universities) {
      const dropped = university.exports(smallSis())[night] ?? {};
      if (!isDelta) whole.set(university, { ...(whole.get(university) ?? smallSis()), ...dropped });
      const files = Object.entries(isDelta ? dropped : (whole.get(university) ?? {}));
      for (const [name, rows] of files as [keyof Sis, Rows][]) {
        sis[name] ??= [];
        for (const row of rows) {
          sis[name].push(marked(row, markOf(university)));
          owners.set(`${name} ${sis[name].length + 1}`, markOf(university));
        }
      }
    }
    const modes = isDelta ? Object.fromEntries(Object.keys(sis).map((name) => [name, 'delta'])) : {};
    return { zip: await zipOf(entriesOfSis(sis, modes)), owners };
  };

  return {
    at,
    bucket,

    /** To be called night by night. */
    async drop(night: number): Promise<void> {
      const { zip, owners } = await exportOf(night);
      const dropped = await drop(zip, undefined, night);
      for (const body of dropped.bodies) platform.take(body);
      nights.set(night, { ...dropped, owners, held: platform.all() });
    },

    toldOf(university: University): NightlyFacts {
      const mark = markOf(university);
      const bodies = (night: number): Body[] =>
        at(night)
          .bodies.filter(({ data }) => `${data.orgUnitCode}`.startsWith(mark))
          .map((body) => ({
            ...body,
            data: JSON.parse(JSON.stringify(body.data).replaceAll(`"${mark}`, '"')),
          }))
          .sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
      return {
        bodies,
        held: (night) =>
          at(night).held.flatMap((each) => (each.startsWith(mark) ? each.replaceAll(mark, '') : [])),
        sent: (night) => bodies(night).map(shown),
        refused: (night) =>
          at(night).report.flatMap((line) => {
            const [, file, number, column, problem] =
              /^"(\w+)\.csv","(\d+)","(\w*)","(.*)"$/.exec(line) ?? [];
            return at(night).owners.get(`${file} ${number}`) === mark ? `${file} ${column} ${problem}` : [];
          }),
      };
    },
  };
};

const orderOf = ({ type, data }: Body): string => `${type} ${JSON.stringify(data)}`;

const shown = ({ type, data: { orgUnitCode, gradeObjectName, userName, roleId, grade } }: Body): string => {
  const { points } = (grade ?? {}) as { points?: number };
  return [type.split('.')[1], orgUnitCode, gradeObjectName, userName, roleId, points]
    .filter((part) => part !== undefined)
    .join(' ');
};

const ownColumns = [
  'sourcedId',
  'classSourcedId',
  'userSourcedId',
  'lineItemSourcedId',
  'studentSourcedId',
  'username',
  'classCode',
];

const marked = (row: Record<string, string>, mark: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      value !== '' && ownColumns.includes(column) ? `${mark}${value}` : value,
    ]),
  );
