import { basename } from 'node:path';
import { type CrosswalkKind, crosswalkSources } from '../../../crosswalk/kinds.ts';
import { bucketOf, type CrosswalkTable } from '../../../crosswalk/table.ts';
import { inFolder } from '../../../runtime/files/folder.ts';
import { openSqlEngine, type SqlEngine } from '../../../runtime/files/tables/engine.ts';
import { UnusableFile } from '../../../runtime/files/tables/unusable-file.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { Integrations } from '../../../stage/integrations.ts';
import type { Mode } from '../compare/comparison.ts';
import { type OneRosterExport, openExport } from '../package/oneroster-export.ts';
import { settingsKey } from '../package/settings-file.ts';
import { createProgress, type OnProgress } from '../progress.ts';
import type { Refusal, SnapshotRecord } from '../state/record.ts';
import { checkPackage, compareHere, emptyStore } from './compare-here.ts';
import {
  type Candidate,
  candidatesIn,
  type DateForm,
  type FileFacts,
  type LookedFile,
  lookedFiles,
  prepareFacts,
  readFacts,
  type ValueCounts,
} from './package-facts.ts';
import { type KnownCandidate, type Proposal, proposalOf, settingsOf, trialSettingsOf } from './proposal.ts';

/** What a package holds, and settings to start from. */
export type Survey = {
  file: string;
  /** The version of OneRoster; undefined: the package states none. */
  version: string | undefined;
  files: ({ name: LookedFile; mode: Mode } & (FileFacts | { problem: string }))[];
  /** Files that are not examined. */
  others: string[];
  /** Columns that may name org units and users, and how many of their samples the crosswalk knows. */
  candidates: KnownCandidate[];
  /** The number of names of each kind in the crosswalk; undefined: it was not asked. */
  crosswalk: Record<CrosswalkKind, number> | undefined;
  /** Why an import would end without a result, whatever the settings are. */
  blocks: string[];
  /** What an import with the settings below would send if its roles had ids of the platform; undefined: it is blocked. */
  trial:
    | (Pick<SnapshotRecord, 'counts' | 'byKind' | 'of' | 'rows' | 'unknownRoles'> & { refusals: Refusal[] })
    | undefined;
  proposal: Proposal;
  settings: object;
};

type SurveyOptions = {
  integrations: Integrations;
  /** The crosswalk of the deployment, if one is given. */
  crosswalk?: Pick<CrosswalkTable, 'namesIn' | 'fills'> | undefined;
  signal?: AbortSignal;
  onProgress?: OnProgress | undefined;
};

/** Maximum size of a package, in unpacked bytes. */
const maxBytes = 16 * 1024 ** 3;
/** About how many statements a survey runs. */
const usualStatements = 7;

/** Examines a package of OneRoster, and proposes settings for it. @throws UsageError, RefusedError if it is none. */
export const surveyPackage = async (
  file: string,
  { integrations, crosswalk, signal, onProgress }: SurveyOptions,
): Promise<Survey> => {
  await checkPackage(file);
  return inFolder(async (folder) => {
    const looking = await look(file, { folder, signal, onProgress: (share) => onProgress?.(share / 2) });
    const { roles, dateForms, candidates, ...facts } = looking;
    const asked = crosswalk && (await ask(candidates, crosswalk));
    const known = usefulOf(asked?.candidates ?? candidates);
    const proposal = proposalOf({ candidates: known, roles, dateForms });
    const tried = await tryImport(file, {
      proposal,
      integrations,
      onProgress: (share) => onProgress?.(0.5 + share / 2),
    });
    const blocks = [...new Set([...facts.blocks, ...('blocked' in tried ? [tried.blocked] : [])])];
    return {
      file: basename(file),
      ...facts,
      candidates: known,
      crosswalk: asked?.names,
      blocks,
      trial: 'blocked' in tried ? undefined : tried,
      proposal,
      settings: settingsOf(proposal),
    };
  });
};

/** Of the templates that are unique for each class, those that the platform knows, or the first one. */
const usefulOf = (candidates: readonly KnownCandidate[]): KnownCandidate[] => {
  const templates = candidates.filter(({ isTemplate }) => isTemplate);
  const known = templates.filter((each) => (each.known?.orgUnitCode ?? 0) > 0);
  const useful = known.length > 0 ? known : templates.slice(0, 1);
  return candidates.filter((each) => !each.isTemplate || useful.includes(each));
};

type ReadPackageOptions = { folder: string; signal: AbortSignal | undefined; onProgress: OnProgress };

const look = async (file: string, { folder, signal, onProgress }: ReadPackageOptions) => {
  const progress = createProgress(onProgress, usualStatements);
  const given = await openExport(file, folder, { onRead: progress.onRead }).catch((error: unknown) => {
    if (!(error instanceof UnusableFile)) throw error;
    throw new RefusedError(
      `${basename(file)} cannot be imported: ${error.message}. Pass a package as the student system exports it.`,
    );
  });
  const present = lookedFiles.filter((name) => given.modes[name] !== 'absent');
  const bytes = present.reduce((sum, name) => sum + given.sizeOf(`${name}.csv`), 0);
  // A second thread costs more than it saves if there is little to do.
  const threads = bytes < 40_000_000 ? 1 : 2;
  const db = await openSqlEngine({ folder, threads, onRun: progress.onRun });
  try {
    if (bytes > maxBytes)
      throw new RefusedError(
        `${basename(file)} has ${bytes} bytes when unpacked, but at most ${maxBytes} can be read.`,
      );
    const isLooked = (name: string): boolean =>
      ['manifest', ...present].some((each) => `${each}.csv`.toLowerCase() === name.toLowerCase());
    const others = given.names.filter((name) => !isLooked(name));
    return { ...(await readAll(present, { given, db, signal })), others };
  } finally {
    db.close();
    await given.close();
  }
};

type SurveyInput = { given: OneRosterExport; db: SqlEngine; signal: AbortSignal | undefined };

const readAll = async (present: readonly LookedFile[], input: SurveyInput) => {
  const { given, db, signal } = input;
  await prepareFacts(db);
  const facts: Facts = {};
  const files: Survey['files'] = [];
  const blocks: string[] = [];
  for (const name of present) {
    signal?.throwIfAborted();
    const mode = given.modes[name];
    try {
      const found = await readFacts({ given, db }, name);
      facts[name] = found;
      files.push({ name, mode, ...found });
      if (name === 'enrollments' || name === 'results') blocks.push(...unclearDates(name, found));
    } catch (error) {
      if (!(error instanceof UnusableFile)) throw error;
      files.push({ name, mode, problem: error.message });
      blocks.push(error.message);
    }
  }
  return {
    version: given.version,
    files,
    blocks,
    roles: rolesIn(facts),
    dateForms: datesIn(facts),
    candidates: await candidatesIn(db, facts),
  };
};

type Facts = Partial<Record<LookedFile, FileFacts>>;

/** The words for roles in enrollments.csv and, if some enrollments have none, in the file that has the users' roles. */
const rolesIn = ({ enrollments, roles, users }: Facts): ValueCounts[] => {
  const of = (facts: FileFacts | undefined) => facts?.values.find(({ column }) => column === 'role');
  const own = of(enrollments);
  const isWhole = own !== undefined && !own.counts.some(({ value }) => value === '');
  return [own, ...(isWhole ? [] : [of(roles ?? users)])].flatMap((each) => each ?? []);
};

/** The dates that an import reads. */
const datesIn = ({ enrollments, results }: Facts): DateForm[] =>
  [enrollments, results].flatMap((each) => each?.dates ?? []);

const unclearDates = (name: LookedFile, { dates }: FileFacts): string[] =>
  dates.flatMap(({ column, form, example, order }) =>
    order === 'unknown'
      ? [
          `${column} of ${name}.csv has dates that can be two days (${form}), such as ${example}. Set "dateOrder" to "day-month-year" or "month-day-year" in the settings`,
        ]
      : [],
  );

/** Asks the crosswalk for the samples of all candidates: a bounded number of names. */
const ask = async (
  candidates: readonly Candidate[],
  crosswalk: Pick<CrosswalkTable, 'namesIn' | 'fills'>,
): Promise<{ candidates: KnownCandidate[]; names: Record<CrosswalkKind, number> }> => {
  const fills = await crosswalk.fills();
  const namesOf = (kind: CrosswalkKind): number =>
    Math.max(...crosswalkSources.map((source) => fills.get(`${kind}/${source}`)?.names ?? 0));
  const bucketsOf = (kind: CrosswalkKind, name: string): string[] =>
    crosswalkSources.map((source) => bucketOf(kind, source, name));
  const found = await crosswalk.namesIn(
    candidates.flatMap((each) =>
      kindsOf(each).flatMap((kind) => each.samples.flatMap((name) => bucketsOf(kind, name))),
    ),
  );
  const isKnown = (kind: CrosswalkKind, name: string): boolean =>
    bucketsOf(kind, name).some((bucket) => found.get(bucket)?.get(name)?.ids.length === 1);
  return {
    candidates: candidates.map((each) => ({
      ...each,
      known: Object.fromEntries(
        kindsOf(each).map((kind) => [kind, each.samples.filter((name) => isKnown(kind, name)).length]),
      ),
    })),
    names: {
      orgUnitCode: namesOf('orgUnitCode'),
      userName: namesOf('userName'),
      orgDefinedId: namesOf('orgDefinedId'),
    },
  };
};

const kindsOf = ({ file }: Candidate): CrosswalkKind[] =>
  file === 'users.csv' ? ['userName', 'orgDefinedId'] : ['orgUnitCode'];

type TrialOptions = {
  proposal: Proposal;
  integrations: Integrations;
  onProgress: OnProgress;
};

/** Compares the package with nothing, by the code of an import, so the survey reports what an import would report. */
const tryImport = async (
  file: string,
  { proposal, integrations, onProgress }: TrialOptions,
): Promise<NonNullable<Survey['trial']> | { blocked: string }> => {
  const settings = trialSettingsOf(proposal);
  try {
    const { record } = await compareHere({
      file,
      store: emptyStore,
      integrations,
      onProgress,
      texts: new Map([[settingsKey, JSON.stringify(settings)]]),
    });
    const { counts, byKind, of, rows, unknownRoles, refusals = [] } = record;
    return { counts, byKind, of, rows, unknownRoles, refusals };
  } catch (error) {
    if (error instanceof RefusedError) return { blocked: error.message };
    throw error;
  }
};
