import { hash } from 'node:crypto';
import { type Random, randomFrom } from '../../../fuzz/random.ts';
import type { Body } from '../imports.ts';
import { type Crosswalk, newCrosswalk } from './crosswalk.ts';
import { deltaOf, type Export, type FileName, fileNames, type Row, wholeOf } from './files.ts';
import { dayOf, instantOf } from './now.ts';
import { type Letter, newPlatform } from './platform.ts';
import { newOracle, type Problem, type ReportLine, type World } from './said.ts';
import { anyChange, applyChange, type ChangeOf, learnLessons, newUniversity } from './university.ts';

/** A file that is put, and what a person decides if one is asked. */
export type PutOf = {
  name: FileName;
  /** `again`: one that was put before. */
  form: 'whole' | 'delta' | 'again';
  isApproved: boolean;
  /** In per cent. */
  maxRemovals: 0 | 100;
  /** The settings cannot be read in this moment. */
  isFailing?: true;
  seed: number;
};

/** `isCalm`: the zip is put first, and accepted. Names change in such nights only. */
export type NightOf = { isCalm: boolean; puts: PutOf[] };

/** All that happens to some universities which share their files. It is data, so that it can be kept. */
export type History = {
  seed: number;
  nights: NightOf[];
  universities: { at: number; seed: number; changes: ChangeOf[][] }[];
};

/** What an import makes of a file. */
export type Imported = {
  /** Why a person must look; undefined: it ended without a comparison, for this reason. */
  reasons: readonly string[] | undefined;
  message?: string;
  report: readonly ReportLine[];
  bodies: readonly Body[];
};
export type Importer = {
  put(
    exported: Export,
    options: Pick<PutOf, 'isApproved' | 'maxRemovals' | 'isFailing'> & { droppedMs: number },
  ): Promise<Imported>;
};
export type MakeImporter = (given: {
  crosswalk: Crosswalk;
  write(key: string, content: string | Buffer): void;
}) => Importer;

const seedIn = (random: Random): number => random.below(1_000_000_000);

const nightFrom = (night: number, random: Random): NightOf => {
  const isCalm = night === 1 || random.happens(0.6);
  const put = (name: FileName): PutOf => ({
    name,
    isApproved: random.happens(0.7),
    seed: seedIn(random),
    form: random.happens(0.15) ? 'again' : name === 'export.zip' && random.happens(0.3) ? 'delta' : 'whole',
    maxRemovals: random.happens(0.15) ? 0 : 100,
    ...(random.happens(0.05) && { isFailing: true as const }),
  });
  const first: PutOf = {
    name: 'export.zip',
    isApproved: true,
    seed: seedIn(random),
    maxRemovals: 100,
    form: night > 1 && random.happens(0.3) ? 'delta' : 'whole',
  };
  const others = fileNames
    .filter((name) => random.happens(name === 'export.zip' ? 0.25 : 0.5))
    .map(put)
    .sort((one, other) => one.seed - other.seed);
  return { isCalm, puts: [...(isCalm ? [first] : []), ...others] };
};

export const historyFrom = (
  seed: number,
  { from, to, nights }: { from: number; to: number; nights: number },
): History => {
  const random = randomFrom(seed);
  const all = Array.from({ length: nights }, (_, at) => nightFrom(at + 1, random));
  const universities = Array.from({ length: to - from }, (_, index) => {
    const own = randomFrom(seed * 7_919 + from + index);
    const changes = all.map(() => Array.from({ length: own.below(4) }, () => anyChange(own)));
    return { at: from + index, seed: seedIn(own), changes };
  });
  return { seed, nights: all, universities };
};

/** A file that was put before, and whether a person who approves of it again can mean what it says now. */
type PutBefore = { exported: Export; night: number; wasAccepted: boolean; isReplaced: boolean };

type Living = World & {
  importer: Importer;
  oracle: ReturnType<typeof newOracle>;
  putBefore: PutBefore[];
  lastCalmNight: number;
  /** In this night. */
  replayed: readonly Letter[];
  /** Some of what the SIS has exported was not accepted: its next export is whole. */
  isLost: boolean;
};

export type Found = Problem & { night: number; put: PutOf };

/** Lives through a history; answers what is wrong after the first file after which something is. */
export const live = async (
  history: History,
  makeImporter: MakeImporter,
  write: (key: string, content: string | Buffer) => void,
): Promise<Found[]> => {
  const crosswalk = newCrosswalk({ write });
  const universities = new Map(history.universities.map(({ at, seed }) => [at, newUniversity(at, seed)]));
  const platform = newPlatform(crosswalk);
  const world: World = { universities, crosswalk, platform };
  const living: Living = {
    ...world,
    importer: makeImporter({ crosswalk, write }),
    oracle: newOracle(world),
    putBefore: [],
    lastCalmNight: 0,
    replayed: [],
    isLost: false,
  };
  for (const [index, { isCalm, puts }] of history.nights.entries()) {
    const night = index + 1;
    if (isCalm) living.lastCalmNight = night;
    for (const { at, changes } of history.universities)
      for (const change of changes[index] ?? []) {
        const university = universities.get(at);
        if (university) applyChange(university, change, { night, isCalm });
      }
    living.replayed = platform.letters();
    fillCrosswalk(living, night);
    for (const [place, put] of puts.entries()) {
      const found = await putOne(living, put, { night, place });
      if (found.length > 0) return found.map((each) => ({ ...each, night, put }));
    }
  }
  return [];
};

const fillCrosswalk = ({ universities, crosswalk, platform }: Living, night: number): void => {
  const codes: Record<string, number> = {};
  const logins: Record<string, number> = {};
  for (const university of universities.values()) {
    university.acceptances = university.acceptances.filter(({ code, night: from }) => {
      if (from > night || !crosswalk.isOpen(code)) return true;
      crosswalk.accept(code);
      return false;
    });
    learnLessons(university, night);
    for (const [name, id] of university.known.orgUnitCode) codes[name] = id;
    for (const [name, id] of university.known.userName) logins[name] = id;
  }
  crosswalk.fill('orgUnitCode', codes);
  crosswalk.fill('userName', logins);
  platform.replay();
};

/** Undefined: there is nothing to put. */
const exportOf = (living: Living, put: PutOf): PutBefore | undefined => {
  const { oracle, universities, putBefore, lastCalmNight } = living;
  const whole = wholeOf([...universities.values()], put.name);
  const made = { night: 0, wasAccepted: false, isReplaced: false };
  if (put.form === 'again') {
    const all = putBefore.filter(
      ({ exported, night, wasAccepted, isReplaced }) =>
        exported.name === put.name && ((wasAccepted && isReplaced) || night >= lastCalmNight),
    );
    return all.length === 0 ? undefined : randomFrom(put.seed).one(all);
  }
  const rows = oracle.rowsOf(put.name);
  const isDelta = put.form === 'delta' && rows.size > 0 && !living.isLost;
  return { exported: isDelta ? deltaOf(whole, rows) : whole, ...made };
};

const isSame = (one: Export, other: Export): boolean =>
  JSON.stringify([...one.rows].map(cellsOf)) === JSON.stringify([...other.rows].map(cellsOf));
const cellsOf = ([file, rows]: [string, readonly Row[]]) => [file, rows.map(({ cells }) => cells)];

const isEnrollment = (key: string): boolean => !key.includes('/');

const putOne = async (
  living: Living,
  put: PutOf,
  { night, place }: { night: number; place: number },
): Promise<Problem[]> => {
  const { oracle, platform, importer, lastCalmNight } = living;
  const chosen = exportOf(living, put);
  if (chosen === undefined) return [];
  const { exported } = chosen;
  const isAgain = put.form === 'again';
  const isApproved = put.isApproved && (!isAgain || chosen.night >= lastCalmNight);
  const before = new Map(platform.keys().map((key) => [key, platform.valueOf(key) ?? '']));
  const droppedMs = Date.parse(instantOf(night)) + 7_200_000 + place * 600_000;
  const done = await importer.put(exported, { ...put, isApproved, droppedMs });
  const { reasons, report, bodies } = done;
  const isZip = put.name === 'export.zip';
  if (!isAgain) {
    chosen.night = night;
    living.putBefore.push(chosen);
  }
  if (reasons === undefined) {
    if (isZip) living.isLost = true;
    // What was put before may be known already.
    return put.isFailing || isAgain ? [] : [{ university: -1, text: `the import ended: ${done.message}` }];
  }
  const isSent = isApproved || reasons.length === 0;
  if (isSent) {
    if (isAgain && chosen.isReplaced && reasons.length === 0) {
      const text = `${put.name} of night ${chosen.night} was put again after another one, and nobody was asked`;
      return [{ university: -1, text }];
    }
    oracle.accept(exported, dayOf(night));
    for (const other of living.putBefore)
      if (other.exported.name === put.name && other.wasAccepted && !isSame(other.exported, exported))
        other.isReplaced = true;
    Object.assign(chosen, { wasAccepted: true, isReplaced: false });
    platform.take(shuffled(bodies, put.seed));
  }
  if (isZip) living.isLost = !isSent || isAgain;
  // An import that waits or was rejected is listed itself.
  if (!isSent) return [];
  const problems = oracle.problems({ before, exported, report, replayed: living.replayed });
  const ended = [...before.keys()].filter((key) => isEnrollment(key) && platform.valueOf(key) === undefined);
  if (reasons.length === 0 && put.maxRemovals === 0 && ended.length > 0)
    problems.push({ university: -1, text: `nobody was asked before these ended: ${ended.join(', ')}` });
  return problems;
};

/** In an order that is the same in a smaller history. */
const shuffled = (bodies: readonly Body[], seed: number): Body[] => {
  const ranked = bodies.map((body) => ({
    body,
    rank: hash('sha256', `${seed} ${body.type} ${JSON.stringify(body.data)}`),
  }));
  return ranked.sort((one, other) => (one.rank < other.rank ? -1 : 1)).map(({ body }) => body);
};
