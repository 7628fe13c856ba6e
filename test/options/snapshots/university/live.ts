import { isDeepStrictEqual } from 'node:util';
import { randomFrom } from '../../../fuzz/random.ts';
import { allBulk, deltaOf, fileNames, type Tables, tablesOf, textsOf, zipOf } from './export.ts';
import { addWrites, differencesIn, noWrites, type Writes } from './judge.ts';
import type { Night } from './nights.ts';
import { newSis, type Sis } from './sis.ts';
import { type JudgedRecord, type Stage, setStage } from './stage.ts';
import { type Changes, changesOf, countOf, messagesOf, noTruth, type Truth, truthOf } from './truth.ts';

export type NightResult = {
  title: string;
  /** How often the import's process was killed while it worked, by its phase. */
  killed: string[];
  /** None, if all is well. */
  problems: string[];
};

type TermOptions = { students: number; seed: number; nights: readonly Night[] };

/** What is known of the platform, and of what was accepted last. */
type TermState = { truth: Truth; writes: Writes; tables: Tables };

/** A term, night by night; it ends with the first one that did not end. */
export const liveTerm = async ({ students, seed, nights }: TermOptions): Promise<NightResult[]> => {
  const sis = newSis(students, randomFrom(seed));
  const stage = await setStage(sis);
  const results: NightResult[] = [];
  const nothing = Object.fromEntries(fileNames.map((name) => [name, new Map()])) as Tables;
  let known: TermState = { truth: noTruth(), writes: noWrites(), tables: nothing };
  try {
    for (const [at, night] of nights.entries()) {
      const daysAgo = nights.length - at;
      const day = new Date(Date.now() - daysAgo * 24 * 3_600_000).toISOString().slice(0, 10);
      const lived = await live(night, { sis, stage, known, day, at });
      known = lived.known;
      results.push(lived.result);
    }
    return results;
  } finally {
    await stage.close();
  }
};

type NightInput = { sis: Sis; stage: Stage; known: TermState; day: string; at: number };

/** Nobody is to be asked. */
const isOfItself = ({ end }: Night): boolean => end === 'accepted';

const isOver = ['accepted', 'rejected', 'failed', 'superseded'];

const live = async (
  night: Night,
  { sis, stage, known, day, at }: NightInput,
): Promise<{ result: NightResult; known: TermState }> => {
  const problems: string[] = [];
  const expect = (fact: string, actual: unknown, wanted: unknown): void => {
    if (isDeepStrictEqual(actual, wanted)) return;
    problems.push(`${fact}: ${JSON.stringify(actual)}, and not ${JSON.stringify(wanted)}`);
  };
  night.life?.(sis, day);

  const droppedAt = `${day}T02:00:00Z`;
  const zip = exported(night, { sis, known, droppedAt });
  const isTold = night.end !== 'rejected';
  const truth = isTold ? truthOf(sis, { day, before: known.truth }) : known.truth;
  const changes = changesOf(known.truth, truth, night.modes?.results === 'delta');
  const effectsBefore = stage.allEffects();

  await stage.drop(`night-${at + 1}`, zip, droppedAt);
  const killing = killAll(night, { sis, stage, droppedAt });
  let record = await stage.settled(droppedAt, [...isOver, 'waiting-for-approval']);
  const { why = '' } = record;
  if (record.state === 'waiting-for-approval') {
    if (isOfItself(night)) problems.push(`a person was asked: ${why}`);
    expect('messages before a person has decided', stage.allEffects(), effectsBefore);
    const shown = JSON.parse(await stage.command(`snapshots show ${record.id} --json`)) as JudgedRecord;
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
  if (isTold) {
    const messages = messagesOf(changes);
    const sent = Object.values({ ...messages }).reduce((sum, count) => sum + count, 0);
    expect('the record’s messages', [record.sent, record.of], [sent, sent]);
    expect('messages with an effect', stage.effects(record.id), messages);
    for (const [kind, wanted] of Object.entries(countsOf(changes)))
      expect(`the record’s ${kind}`, pick(record.byKind[kind], wanted), wanted);
  }
  expect('messages', stage.allEffects() - effectsBefore, isTold ? sumOf(messagesOf(changes)) : 0);

  expect('letters', await stage.takeLetters(), []);
  problems.push(...stage.troubles.splice(0));
  const waits = [...stage.waits].map(([what, times]) => `${what} ${times}`);
  stage.waits.clear();
  problems.push(...differencesIn(await stage.state(), { truth, writes, before: stage.before }));
  if (problems.length > 0 && waits.length > 0) problems.unshift(`what waited: ${waits.join(', ')}`);
  const result = { title: night.title, killed, problems };
  return { result, known: isTold ? { truth, writes, tables: tablesOf(sis) } : known };
};

const sumOf = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

type Exporting = { sis: Sis; known: TermState; droppedAt: string };

/** What the SIS drops. */
const exported = (night: Night, { sis, known, droppedAt }: Exporting): Uint8Array => {
  const { modes = allBulk, spoilt } = night;
  const tables = tablesOf(sis);
  for (const name of fileNames) {
    if (modes[name] === 'delta') tables[name] = deltaOf(known.tables[name], tables[name], droppedAt);
    if (modes[name] === 'absent') tables[name] = new Map();
  }
  const texts = textsOf(tables, modes);
  return zipOf(spoilt?.(texts) ?? texts);
};

/** What the record must count, by kind. */
const countsOf = (changes: Changes): Record<string, Record<string, number>> => {
  const kinds = {
    lineItems: changes.gradeObjects,
    enrollments: changes.enrollments,
    results: changes.grades,
  };
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, own]) => [
      kind,
      {
        created: countOf(own, 'created'),
        updated: countOf(own, 'updated'),
        removed: countOf(own, 'removed'),
        unchanged: countOf(own, 'unchanged'),
        refused: 0,
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
