import { isDeepStrictEqual } from 'node:util';
import { randomFrom } from '../fuzz/random.ts';
import { allBulk, deltaOf, fileNames, type Tables, tablesOf, textsOf, zipOf } from './export.ts';
import { addWrites, differencesIn, noWrites, type Writes } from './judge.ts';
import { giveHeldTitles, type Night } from './nights.ts';
import { newSis, type Sis } from './sis.ts';
import { type Stage, setStage, type Told } from './stage.ts';
import { type Changes, changesOf, countOf, messagesOf, noTruth, type Truth, truthOf } from './truth.ts';

export type NightResult = {
  title: string;
  /** In all files. */
  rows: number;
  counts: Told['counts'];
  messages: number;
  letters: number;
  end: string;
  /** How often the import's process was killed while it worked, by its phase. */
  killed: string[];
  seconds: number;
  /** None, if all is well. */
  problems: string[];
};

type TermOptions = {
  students: number;
  seed: number;
  nights: readonly Night[];
  told?(result: NightResult): void;
};

/** What is known of the platform, and of what was accepted last. */
type Known = { truth: Truth; writes: Writes; tables: Tables };

/** A term, night by night; it ends with the first one that did not end. */
export const liveTerm = async ({
  students,
  seed,
  nights,
  told = () => {},
}: TermOptions): Promise<NightResult[]> => {
  const sis = newSis(students, randomFrom(seed));
  const stage = await setStage(sis);
  const results: NightResult[] = [];
  const nothing = Object.fromEntries(fileNames.map((name) => [name, new Map()])) as Tables;
  let known: Known = { truth: noTruth(), writes: noWrites(), tables: nothing };
  try {
    for (const [at, night] of nights.entries()) {
      const daysAgo = nights.length - at;
      const day = new Date(Date.now() - daysAgo * 24 * 3_600_000).toISOString().slice(0, 10);
      const lived = await live(night, { sis, stage, known, day, at });
      known = lived.known;
      results.push(lived.result);
      told(lived.result);
    }
    return results;
  } finally {
    await stage.close();
  }
};

type Given = { sis: Sis; stage: Stage; known: Known; day: string; at: number };

/** Nobody is to be asked. */
const isOfItself = ({ end }: Night): boolean => end === 'accepted' || end === 'failed';

const isOver = ['accepted', 'rejected', 'failed', 'superseded'];

const live = async (
  night: Night,
  { sis, stage, known, day, at }: Given,
): Promise<{ result: NightResult; known: Known }> => {
  const startedMs = performance.now();
  const problems: string[] = [];
  const expect = (fact: string, actual: unknown, wanted: unknown): void => {
    if (isDeepStrictEqual(actual, wanted)) return;
    problems.push(`${fact}: ${JSON.stringify(actual)}, and not ${JSON.stringify(wanted)}`);
  };
  const users = namesOf(sis);
  const ambiguousBefore = enrolledInAmbiguous(sis);
  giveHeldTitles(sis);
  night.life?.(sis, day);
  if (namesOf(sis) !== users) await stage.tellUsers();

  const droppedAt = `${day}T02:00:00Z`;
  const { tables, zip, refused } = exported(night, { sis, known, droppedAt });
  const isTold = night.end === 'accepted' || night.end === 'approved';
  const truth = isTold
    ? truthOf(sis, { day, before: known.truth, keepsMissing: night.keepsMissing === true })
    : known.truth;
  const changes = changesOf(known.truth, truth, night.modes?.results === 'delta');
  const effectsBefore = stage.allEffects();

  if (night.late) await stage.delay(night.late);
  await stage.drop(`night-${at + 1}`, zip, droppedAt);
  const killing = killAll(night, { sis, stage, droppedAt });
  let record = await stage.settled(droppedAt, [...isOver, 'waiting-for-approval']);
  const { why = '' } = record;
  if (record.state === 'waiting-for-approval') {
    if (isOfItself(night)) problems.push(`a person was asked: ${why}`);
    expect('messages before a person has decided', stage.allEffects(), effectsBefore);
    const shown = JSON.parse(await stage.command(`snapshots show ${record.id} --json`)) as Told;
    expect('what the command shows', shown.state, 'waiting-for-approval');
    const decision = night.end === 'approved' ? 'approve' : 'reject';
    await stage.command(`snapshots ${decision} ${record.id} --reason "${night.title}" --yes`);
    record = await stage.settled(droppedAt, isOver);
    expect('who decided', record.decided?.decision, night.end);
  } else expect('no person was asked', isOfItself(night), true);
  const killed = await killing;
  await stage.quiet();

  expect('its state', record.state, night.end === 'approved' ? 'accepted' : night.end);
  if (night.says && !night.says.test(why)) problems.push(`why: “${why}”, and nothing like ${night.says}`);
  const writes = { enrollments: new Map(known.writes.enrollments), grades: new Map(known.writes.grades) };
  addWrites(writes, changes);
  const letters = night.letters?.messages ?? {};
  if (isTold) {
    const messages = messagesOf(changes);
    const sent = Object.values({ ...messages }).reduce((sum, count) => sum + count, 0) + sumOf(letters);
    expect('the record’s messages', [record.sent, record.of], [sent, sent]);
    expect('messages with an effect', stage.effects(record.id), messages);
    const more = { refused, letters, told: ambiguousBefore };
    for (const [kind, wanted] of Object.entries(countsOf(changes, more)))
      expect(`the record’s ${kind}`, pick(record.byKind[kind], wanted), wanted);
  }
  expect('messages', stage.allEffects() - effectsBefore, isTold ? sumOf(messagesOf(changes)) : 0);

  const taken = await stage.takeLetters();
  const wantedLetters = Object.entries(letters).flatMap(([name, count]) =>
    Array.from({ length: count }, () => `${name}: ${night.letters?.kind}`),
  );
  expect(
    'letters',
    taken.slice(0, 20).map(({ failure }) => `${failure?.function}: ${failure?.kind}`),
    wantedLetters,
  );
  problems.push(...stage.troubles.splice(0));
  const waits = [...stage.waits].map(([what, times]) => `${what} ${times}`);
  stage.waits.clear();
  problems.push(...differencesIn(await stage.state(), { truth, writes, before: stage.before }));
  if (problems.length > 0 && waits.length > 0) problems.unshift(`what waited: ${waits.join(', ')}`);
  const result = {
    title: night.title,
    rows: Object.values(tables).reduce((sum, { size }) => sum + size, 0),
    counts: record.counts,
    messages: stage.allEffects() - effectsBefore,
    letters: taken.length,
    end: night.end,
    killed,
    seconds: (performance.now() - startedMs) / 1_000,
    problems,
  };
  return { result, known: isTold ? { truth, writes, tables: tablesOf(sis) } : known };
};

const namesOf = ({ people }: Sis): string => [...people.values()].map(({ userName }) => userName).join();

const sumOf = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

type Exporting = { sis: Sis; known: Known; droppedAt: string };

/** What the SIS drops. */
const exported = (night: Night, { sis, known, droppedAt }: Exporting) => {
  const { modes = allBulk, unusable, spoilt, cut } = night;
  const tables = tablesOf(sis);
  for (const name of fileNames) {
    if (modes[name] === 'delta') tables[name] = deltaOf(known.tables[name], tables[name], droppedAt);
    if (modes[name] === 'absent') tables[name] = new Map();
  }
  const refused = unusable?.(tables, sis, known.tables) ?? {};
  const texts = textsOf(tables, modes);
  const zip = zipOf(spoilt?.(texts, tables) ?? texts);
  return { tables, zip: cut?.(zip) ?? zip, refused };
};

/** They are told as all others are, and the platform never holds them. */
const enrolledInAmbiguous = (sis: Sis): number =>
  sis.current().filter(({ classId }) => sis.classes.get(classId)?.isAmbiguous).length;

type More = { refused: Record<string, number>; letters: Record<string, number>; told: number };

/** What the record must count, by kind. */
const countsOf = (
  changes: Changes,
  { refused, letters, told }: More,
): Record<string, Record<string, number>> => {
  const kinds = {
    lineItems: changes.gradeObjects,
    enrollments: changes.enrollments,
    results: changes.grades,
  };
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, own]) => [
      kind,
      {
        created: countOf(own, 'created') + (kind === 'enrollments' ? sumOf(letters) : 0),
        updated: countOf(own, 'updated'),
        removed: countOf(own, 'removed'),
        unchanged: countOf(own, 'unchanged') + (kind === 'enrollments' ? told : 0),
        refused: refused[kind] ?? 0,
      },
    ]),
  );
};

const pick = (
  counts: Record<string, number> | undefined,
  wanted: Record<string, number>,
): Record<string, number> =>
  Object.fromEntries(Object.keys(wanted).map((name) => [name, counts?.[name] ?? 0]));

type Killing = { sis: Sis; stage: Stage; droppedAt: string };

/** One after the other; those that came too late are left out. */
const killAll = async ({ kills = [] }: Night, { sis, stage, droppedAt }: Killing): Promise<string[]> => {
  const killed: string[] = [];
  // A larger university takes longer.
  for (const phase of kills)
    if (await stage.kill(phase, droppedAt, sis.random.below(20 + sis.students.length / 20)))
      killed.push(phase);
  return killed;
};
