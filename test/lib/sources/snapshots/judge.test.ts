import { afterAll, expect, test } from 'vitest';
import { randomFrom } from '../../../fuzz/random.ts';
import { seed } from '../../../seed.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../temporary-folder.ts';
import { bucketFolder } from './bucket-folder.ts';
import {
  change,
  differences,
  dropped,
  exportOf,
  type Form,
  newPast,
  newPlatform,
  newUniversity,
  tableOf,
  type University,
  withPerson,
} from './judge.ts';

/** `judge-snapshots` is the long proof; without it, the same in small. */
const [many, nights] = [process.env.JUDGED_UNIVERSITIES, process.env.JUDGED_NIGHTS].map(Number) as [
  number,
  number,
];
const size = { universities: many || 400, nights: nights || 4 };
/** How many share one export: an import costs little more for a thousand than for one. */
const together = 1_000;

afterAll(removeTemporaryFolders);

const settings = JSON.stringify({
  ...{ roles: { student: 110, teacher: 109 }, maxRemovalsPercent: 100, maxChangesPercent: 100 },
});
const data = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
const messageBy = (by: string, key: string[]) => ({
  ...{ function: 'enrollment-create', when: { BY: [by] }, key, time: 'AT' },
  data: { ...data, roleId: { from: 'ROLE', values: { student: 110, teacher: 109 } } },
  removed: { function: 'enrollment-remove', data },
});
const mapping = JSON.stringify({
  messages: [messageBy('id', ['KEY']), messageBy('role', ['COURSE', 'LOGIN', 'ROLE'])],
});

type Night = { night: number; universities: University[] };
/** Whether the export of OneRoster is no delta. */
const isWhole = (night: number): boolean => night % 3 === 1;

type Drop = (night: Night) => Promise<{ key: string; content: Buffer | string }>;

/** Lives through all nights; answers what is wrong after the first of them in which something is. */
const live = async (drop: Drop, { from, to, form }: { from: number; to: number; form: Form }) => {
  const random = randomFrom(seed + from);
  const bucket = bucketFolder(temporaryFolder());
  bucket.write('snapshot-settings.json', settings);
  bucket.write('snapshot-mapping.json', mapping);
  const universities = Array.from({ length: to - from }, (_, at) => newUniversity(from + at, random));
  const pasts = universities.map(newPast);
  const platform = newPlatform();
  for (let night = 1; night <= size.nights; night += 1) {
    for (const university of universities)
      for (let times = random.below(4); times > 0; times -= 1) change(university, night, random);
    const now = new Map(
      universities.flatMap(({ tables, people }) =>
        [...tables.users.values()].map(({ sourcedId = '', username = '' }) => [
          username,
          people.get(sourcedId) ?? '',
        ]),
      ),
    );
    // A table has no ids by which two names would be those of one user.
    for (const { merged } of universities)
      for (const [from, to] of merged.splice(0)) if (form.isOneRoster) platform.merge(from, to);
    const bodies = await dropped(bucket, { ...(await drop({ night, universities })), night });
    for (const body of bodies) platform.take(body, (name) => now.get(name));
    // What a letter says of one who has become another is about that one, too.
    const letters = new Set(platform.letters.map(withPerson).flatMap((key) => [key, platform.keyNow(key)]));
    const problems = universities.flatMap((university, at) =>
      differences(university, { platform, letters }, { form, night, past: pasts[at] ?? newPast() }),
    );
    if (problems.length > 0) return [`in night ${night} from ${from}`, ...problems.slice(0, 5)];
  }
  return [];
};

const all = async (drop: () => Drop, form: Form, universities = size.universities): Promise<string[]> => {
  const problems: string[] = [];
  for (let from = 0; from < universities; from += together)
    problems.push(...(await live(drop(), { from, to: Math.min(universities, from + together), form })));
  return problems;
};

const limit = { timeout: 3_600_000 };

test(
  `${size.universities} universities hold what their exports of OneRoster say, in ${size.nights} nights`,
  limit,
  async () => {
    const oneRoster = (): Drop => {
      let last: Awaited<ReturnType<typeof exportOf>> | undefined;
      return async ({ night, universities }) => {
        last = await exportOf(universities, isWhole(night) ? undefined : last?.rows);
        return { key: 'snapshots/export.zip', content: last.zip };
      };
    };
    const form: Form = { rowIdOf: ({ sourcedId = '' }) => sourcedId, isOneRoster: true, isWhole };
    expect(await all(oneRoster, form)).toEqual([]);
  },
);

test(
  `${size.universities} universities hold what their tables say by the ids of rows, and as many by their roles, in ${size.nights} nights`,
  limit,
  async () => {
    /** Of every second university. */
    const isById = ({ sourcedId = '' }: Record<string, string>): boolean =>
      Number(/\d+/.exec(sourcedId)) % 2 === 0;
    const table: Drop = async ({ universities }) => ({
      key: 'snapshots/enrollments.csv',
      content: tableOf(universities, (row) => (isById(row) ? 'id' : 'role')),
    });
    const rowIdOf: Form['rowIdOf'] = (row, { code, name }) =>
      isById(row) ? (row.sourcedId ?? '') : `${code} ${name} ${row.role}`;
    const form: Form = { rowIdOf, isOneRoster: false, isWhole: () => true };
    expect(await all(() => table, form, 2 * size.universities)).toEqual([]);
  },
);
