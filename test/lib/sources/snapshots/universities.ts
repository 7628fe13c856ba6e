import type { Body } from './imports.ts';
import { entriesOfSis, type Rows, type Sis, smallSis, zipOf } from './sis.ts';

/** A whole export holds until the next; a delta that is not named has no row. */
type Exporting = { exports: (sis: Required<Sis>) => Record<number, Sis> };

type Imported = { bodies: readonly Body[]; report: readonly string[]; owners: ReadonlyMap<string, string> };

/**
 * Small universities that share one export, as an import costs as much for one of them as for all: the names of each begin with its mark.
 * An export has all rows, and in the nights of `deltas` only what has changed.
 */
export const sharedExports = <University extends Exporting>(
  universities: readonly University[],
  deltas: readonly number[],
) => {
  const whole = new Map(universities.map((university) => [university, smallSis()]));
  const markOf = (university: University): string => `${universities.indexOf(university)}:`;
  return {
    markOf,

    /** To be asked night by night. `owners`: the mark of each row, by its file and line, as `users 2`. */
    async exportOf(night: number): Promise<{ zip: Buffer; owners: Map<string, string> }> {
      const isDelta = deltas.includes(night);
      const sis: Sis = {};
      const owners = new Map<string, string>();
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
    },

    /** The events of one university, without its mark. */
    bodiesOf(university: University, { bodies }: Pick<Imported, 'bodies'>): Body[] {
      const mark = markOf(university);
      return bodies
        .filter(({ data }) => `${data.orgUnitCode}`.startsWith(mark))
        .map((body) => ({
          ...body,
          data: JSON.parse(JSON.stringify(body.data).replaceAll(`"${mark}`, '"')),
        }));
    },

    /** The reported rows of one university, as `enrollments userSourcedId is not an id`. */
    refusedOf(university: University, { report, owners }: Pick<Imported, 'report' | 'owners'>): string[] {
      return report.flatMap((line) => {
        const [, file, number, column, problem] = /^"(\w+)\.csv","(\d+)","(\w*)","(.*)"$/.exec(line) ?? [];
        return owners.get(`${file} ${number}`) === markOf(university) ? `${file} ${column} ${problem}` : [];
      });
    },
  };
};

const ownColumns = [
  ...['sourcedId', 'classSourcedId', 'userSourcedId', 'lineItemSourcedId', 'studentSourcedId'],
  ...['username', 'classCode'],
];

const marked = (row: Record<string, string>, mark: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      value !== '' && ownColumns.includes(column) ? `${mark}${value}` : value,
    ]),
  );
