import { afterAll, expect, test } from 'vitest';
import { loadIntegrations } from '../../../lib/deployment/integrations.ts';
import { randomFrom } from '../../fuzz/random.ts';
import { seed } from '../../seed.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../temporary-folder.ts';
import { bucketFolder } from './bucket-folder.ts';
import {
  change,
  differencesOf,
  dropped,
  exportOf,
  newPlatform,
  newUniversity,
  tableOf,
  type University,
  wantedOf,
} from './judge.ts';

/** `npm run judge-snapshots` is the long proof; without it, the same in small. */
const [many, nights] = [process.env.JUDGED_UNIVERSITIES, process.env.JUDGED_NIGHTS].map(Number) as [
  number,
  number,
];
const size = { universities: many || 140, nights: nights || 7, together: 250 };

const integrations = await loadIntegrations();
afterAll(removeTemporaryFolders);

const settings = JSON.stringify({
  ...{ roles: { student: 110, teacher: 109 }, maxRemovalsPercent: 100, maxChangesPercent: 100 },
});
const data = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
const mappingBy = (key: string[]) =>
  JSON.stringify({
    messages: [
      {
        ...{ function: 'enrollment-create', key, time: 'AT' },
        data: { ...data, roleId: { from: 'ROLE', values: { student: 110, teacher: 109 } } },
        removed: { function: 'enrollment-remove', data },
      },
    ],
  });

type Night = { night: number; universities: University[] };
type Drop = (night: Night) => Promise<{ key: string; content: Buffer | string }>;

/** Lives through all nights; answers what is wrong after the first of them in which something is. */
const live = async (drop: Drop, { from, to, grades }: { from: number; to: number; grades: boolean }) => {
  const random = randomFrom(seed + from);
  const bucket = bucketFolder(temporaryFolder());
  bucket.write('snapshot-settings.json', settings);
  bucket.write('snapshot-mappings/by-id.json', mappingBy(['KEY']));
  bucket.write('snapshot-mappings/by-role.json', mappingBy(['COURSE', 'LOGIN', 'ROLE']));
  const universities = Array.from({ length: to - from }, (_, at) => newUniversity(from + at, random));
  const platform = newPlatform();
  const persons = new Map<string, string>();
  // Where a row of a grade is refused, what only a delta repairs comes with the next whole export.
  const disputed = new Set<string>();
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
    for (const [name, person] of now) persons.set(name, person);
    const { bodies } = await dropped(
      { bucket, integrations },
      { ...(await drop({ night, universities })), night },
    );
    for (const body of bodies) platform.take(body, (name) => now.get(name));
    const letters = new Set(
      platform.letters.map((letter) => {
        const [code = '', name = ''] = letter.split(' ');
        return `${code} ${persons.get(name)}`;
      }),
    );
    if (night % 3 === 1) disputed.clear();
    for (const { wanted, isGradeRefused } of universities.map(wantedOf))
      for (const [key, value] of wanted)
        if ((value === undefined || isGradeRefused) && key.split(' ').length > 2) disputed.add(key);
    for (const key of disputed) letters.add(key);
    const problems = universities
      .flatMap((university) => differencesOf(university, { platform, letters }))
      .filter((problem) => grades || /^\S+ \S+ is/.test(problem));
    if (problems.length > 0) return [`in night ${night} from ${from}`, ...problems.slice(0, 5)];
  }
  return [];
};

const all = async (drop: () => Drop, options: { grades: boolean }): Promise<string[]> => {
  const problems: string[] = [];
  for (let from = 0; from < size.universities; from += size.together)
    problems.push(
      ...(await live(drop(), { from, to: Math.min(size.universities, from + size.together), ...options })),
    );
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
        last = await exportOf(universities, night % 3 === 1 ? undefined : last?.rows);
        return { key: 'snapshots/export.zip', content: last.zip };
      };
    };
    expect(await all(oneRoster, { grades: true })).toEqual([]);
  },
);

test.each(['by-id', 'by-role'])(
  `${size.universities} universities hold what their tables %s say, in ${size.nights} nights`,
  limit,
  async (name) => {
    const table =
      (): Drop =>
      async ({ universities }) => ({
        key: `snapshots/${name}.csv`,
        content: tableOf(universities, ({ sourcedId = '' }) => sourcedId),
      });
    expect(await all(table, { grades: false })).toEqual([]);
  },
);
