import * as z from 'zod';
import { type CrosswalkSource, crosswalkSources } from '../../crosswalk/kinds.ts';
import { filledFolder, type MovedCodes, movedIn, movedKey } from '../../crosswalk/moved.ts';
import { isRetried } from '../../message/failure-kinds.ts';
import { ownText, safe } from '../../message/safe-text.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import type { CallInput } from '../../platform/client/request.ts';
import type { Job } from '../../runtime/jobs/engine.ts';
import { enoughTime, inSteps } from '../../runtime/jobs/in-steps.ts';
import { type JobRun, jobOf } from '../../runtime/jobs/job.ts';
import { requestFrom } from '../../runtime/jobs/job-request.ts';
import type { JobServices } from '../../runtime/jobs/job-services.ts';
import { waitForOlderExecutions } from '../../runtime/jobs/older-executions.ts';
import { workThrough } from '../../runtime/jobs/work-list.ts';
import {
  compareListed,
  type FillOptions,
  type FillResult,
  type NameList,
  unwritten,
  type Written,
  writeBuckets,
} from './compare.ts';
import {
  areUsable,
  compareFiles,
  crosswalkFiles,
  type FileRead,
  isHeld,
  reportKey,
  unreadFiles,
} from './files.ts';
import type { FillSettings } from './fill-settings.ts';
import { type HeldNames, heldIn, heldKey } from './held-names.ts';
import {
  classlistList,
  type ListingServices,
  listOrgUnitCodes,
  type OrgUnitsListed,
  userKinds,
  warnOfLong,
} from './listings.ts';

/** A fill always includes org units and files. */
const fillRequest = z.strictObject({
  /** Also fill user names from the classlists of all courses, if there is no file of users. */
  classlists: z.boolean().default(false),
  /** A person has looked: names are removed, or stand for other ids, as the sources state, however many. */
  acceptRemovals: z.boolean().default(false),
});

type FillRequest = z.infer<typeof fillRequest> & {
  /** Then classlists are read once a night. */
  isScheduled: boolean;
};

/** @throws Error that names what is wrong with the event. */
const requestIn = (event: unknown): FillRequest => {
  const { request, isScheduled } = requestFrom(fillRequest, event);
  return { ...request, isScheduled };
};

export type FillServices = FillOptions &
  ListingServices &
  Pick<JobServices, 'running'> & {
    limits: JobServices['limits'] & Pick<FillSettings['limits'], 'classlistsHour'>;
  };

export type FillAnswer = {
  /** `held`: some names stay as they were, and a person must find out why. */
  outcome: 'filled' | 'held';
  message: string;
  /** Files in the same folder that no fill reads, as their names are others. */
  unread: string[];
  /** It looked for no users: there is no file of them, and nobody asked for classlists. */
  withoutUsers: boolean;
  fills: FillResult[];
  files: FileRead[];
};

type Run = JobRun<FillServices> & { request: FillRequest };

const stateFolder = 'crosswalk-state/';
const filesKey = `${filledFolder}files.json`;
const classlistsKey = `${filledFolder}classlists.json`;
/** Fills the crosswalk's table from the platform's lists and the university's files. */
export const fillJob = (services: () => Promise<FillServices>): Job<FillRequest, FillAnswer> =>
  jobOf({
    requestIn,
    whatOf: () => safe`the fill of the crosswalk`,
    services,
    executions: () => `${stateFolder}executions/`,
    work: async (request, run) => {
      const { engine, services, step } = run;
      const { observe, running, limits } = services;
      // Counted before its turn comes, so that a long wait for others does not look like a missing run.
      await step('begin', async () => {
        observe.count('CrosswalkRuns', { function: 'crosswalk-fill' }, 1);
        observe.flush();
      });
      await waitForOlderExecutions(engine, { running, backoff: limits.backoff });
      return fillAll({ ...run, request });
    },
  });

const fillAll = async (run: Run): Promise<FillAnswer> => {
  const { services, step } = run;
  const looked = await step('look at the files', () => lookAtFiles(services));
  for (const of of looked.unwritten) if (of.isPending) await write(run, of, 'finish');
  const { files, fills } = looked.isChanged ? await fillFromFiles(run, looked) : noFiles();
  const hasUsers = looked.etags[crosswalkFiles[0].key] !== undefined;
  const wantsCourses = !hasUsers && (await areClasslistsDue(run));
  const { parts, courses } = await listAllOrgUnits(run, { wantsCourses });
  fills.push(
    ...(await fill(run, 'org units', [{ kind: 'orgUnitCode', source: 'platform', parts, isWhole: true }])),
  );
  if (courses.length > 0) fills.push(...(await fillFromClasslists(run, courses)));
  const sources = [
    'the platform’s list of org units',
    ...(courses.length > 0 ? ['the classlists'] : []),
    ...Object.keys(looked.etags),
  ];
  // A schedule reads classlists only once a night.
  const withoutUsers = !hasUsers && !wantsCourses && !run.request.isScheduled;
  const found = { files, fills, sources, withoutUsers, unread: looked.unread };
  return step('tell', () => reportResult(found, services));
};

type FilesChecked = {
  /** Existing files, by key. */
  etags: Record<string, string>;
  unread: string[];
  isChanged: boolean;
  unwritten: Awaited<ReturnType<typeof unwritten>>;
};

type FromFiles = Pick<FillAnswer, 'files' | 'fills'>;
const noFiles = (): FromFiles => ({ files: [], fills: [] });

const fillFromFiles = async (run: Run, { etags }: FilesChecked): Promise<FromFiles> => {
  const { services, request, step } = run;
  await enoughTime(run, 'before the files are compared');
  const compared = await step('compare the files', () =>
    compareFiles({ ...services, etags, acceptRemovals: request.acceptRemovals }),
  );
  await writeAll(run, 'files', compared.fills);
  if (areUsable(compared))
    await step('note which files were filled', () => services.store.writeJson(filesKey, { etags }));
  return compared;
};

/** A schedule asks for them once a night, even if the night's fill failed. */
const areClasslistsDue = async ({ request, services, step }: Run): Promise<boolean> => {
  if (!request.isScheduled) return request.classlists;
  const { store, limits } = services;
  return step('are classlists due', async () => {
    const stored = (await store.readJsonIfAny(classlistsKey)) as { readMs: number } | undefined;
    const night = new Date();
    night.setUTCHours(limits.classlistsHour, 0, 0, 0);
    if (night.getTime() > Date.now()) night.setUTCDate(night.getUTCDate() - 1);
    return (stored?.readMs ?? 0) < night.getTime();
  });
};

const lookAtFiles = async ({ store }: FillServices): Promise<FilesChecked> => {
  const etags: Record<string, string> = {};
  for (const { key } of crosswalkFiles) {
    const etag = await store.etagOf(key);
    if (etag !== undefined) etags[key] = etag;
  }
  const before = ((await store.readJsonIfAny(filesKey)) ?? { etags: {} }) as Pick<FilesChecked, 'etags'>;
  const isSame = crosswalkFiles.every(({ key }) => etags[key] === before.etags[key]);
  // A further comparison completes an accepted move.
  const moved = movedIn(await store.readJsonIfAny(movedKey('file')));
  const left = await unwritten(store);
  const isChanged = !isSame || moved.codes.length > 0 || left.some(({ source }) => source === 'file');
  return { etags, unread: await unreadFiles(store), isChanged, unwritten: left };
};

type AllListed = { parts: string[]; courses: number[] };

/** Lists all org units in steps; each continues where the one before stopped. */
const listAllOrgUnits = async (run: Run, { wantsCourses }: { wantsCourses: boolean }): Promise<AllListed> => {
  const { services, folder } = run;
  const all: AllListed = { parts: [], courses: [] };
  const begins = new Set<string>();
  const untilMs = await run.step('until when', async () => Date.now() + services.limits.maxWaitMs);
  const keyOf = (at: number): string => `${folder}org-units-${at}.gz`;
  await inSteps<CallInput, OrgUnitsListed>(run, {
    name: 'org units',
    from: {},
    work: (from, { at, timeMs }) =>
      endFillIfFailureLasts(untilMs, () =>
        listOrgUnitCodes({ key: keyOf(at), timeMs, from, wantsCourses }, services),
      ),
    next: ({ courses, following }) => {
      all.parts.push(keyOf(all.parts.length + 1));
      for (const course of courses) all.courses.push(course);
      const place = JSON.stringify(following);
      if (following && begins.has(place))
        throw new Error('The pages of org units repeat: a page leads back to an earlier one');
      begins.add(place);
      return following;
    },
  });
  return all;
};

/** Fills users from the classlists of these courses. What cannot be read removes nothing. */
const fillFromClasslists = async (run: Run, courses: number[]): Promise<FillResult[]> => {
  const { services, folder, step } = run;
  const startedMs = await step('begin with the classlists', async () => Date.now());
  const list = classlistList(folder, services);
  const { keys, failed, hidden, tooLong } = await workThrough(courses, list, { run, startedMs });
  await step('the classlists', async () => {
    const { observe, store } = services;
    if (failed < courses.length) await store.writeJson(classlistsKey, { readMs: Date.now() });
    if (failed > 0)
      observe.warn(safe`classlists could not be read, so no user is removed`, { count: failed });
    if (hidden > 0) observe.info(safe`names in classlists are hidden by privacy settings`, { count: hidden });
    warnOfLong(tooLong, services);
    observe.flush();
  });
  if (failed === courses.length && failed > 0) throw new Error('No classlist could be read');
  const isWhole = failed === 0;
  const listings = userKinds.map(
    (kind) => ({ kind, source: 'platform', parts: keys[kind], isWhole }) as const,
  );
  return fill(run, 'classlists', listings);
};

const fill = async (
  run: Run,
  name: string,
  listings: Parameters<typeof compareListed>[0],
): Promise<FillResult[]> => {
  const { services, request, step } = run;
  await enoughTime(run, `before the ${name} are compared`);
  const fills = await step(`compare the ${name}`, () =>
    compareListed(listings, { ...services, acceptRemovals: request.acceptRemovals }),
  );
  await writeAll(run, name, fills);
  return fills;
};

const writeAll = async (run: Run, name: string, fills: FillResult[]): Promise<void> => {
  for (const each of fills)
    if (each.outcome === 'changed' && !(await write(run, each))) each.outcome = 'refused';
  await run.step(`note the ${name}`, async () => {
    for (const { kind, source, names } of fills.filter((each) => !isHeld(each)))
      await run.services.table.noteFill(`${kind}/${source}`, { filledMs: Date.now(), names });
  });
};

/** In steps; each continues where the one before stopped. False: AWS refuses it. */
const write = async (run: Run, of: NameList, verb = 'write'): Promise<boolean> => {
  let isRefused = false;
  await inSteps<string, Written>(run, {
    name: `${verb} ${of.kind}/${of.source}`,
    from: '',
    work: (from, { timeMs }) => writeBuckets(of, { from, untilMs: Date.now() + timeMs }, run.services),
    next: (written) => {
      isRefused = written.isRefused === true;
      return written.following;
    },
  });
  return !isRefused;
};

/**
 * Always exists: an operator may read it but not list the bucket, and so could not distinguish a missing object from a refused one.
 */
const movedSoFar = async (source: CrosswalkSource, store: FillServices['store']): Promise<MovedCodes> => {
  const stored = await store.readJsonIfAny(movedKey(source));
  if (stored === undefined) await store.writeJson(movedKey(source), { codes: [] } satisfies MovedCodes);
  return movedIn(stored);
};

/**
 * Why the names of each kind and source stay as they were, if they do; without those that were not compared. Files that were not
 * compared are those that were filled last.
 */
const checkedIn = ({
  files,
  fills,
}: Pick<FillAnswer, 'files' | 'fills'>): Map<string, string | undefined> => {
  const checked = new Map<string, string | undefined>();
  for (const { key, names } of crosswalkFiles) {
    const problem = files.find((file) => file.key === key)?.problem;
    for (const kind of names)
      checked.set(`${kind}/file`, problem && `${key} ${problem}. Its names stay as they were`);
  }
  for (const each of fills)
    checked.set(`${each.kind}/${each.source}`, isHeld(each) ? heldText(each) : crowdedIn(each));
  return checked;
};

const crowdedIn = ({ kind, source, crowded }: FillResult): string | undefined =>
  crowded === 0
    ? undefined
    : `${crowded} names (${kind}, ${source}) are left out, as their buckets are full: they are far longer than usual, or made to collide. ${source === 'file' ? `${reportKey} lists their rows` : 'Shorten them on the platform'}`;

const heldText = ({ kind, source, outcome, removed, reassigned, names }: FillResult): string => {
  if (outcome === 'refused')
    return `AWS refuses to store the names (${kind}, ${source}), and they may be partly stored. The next fill compares and stores them again. If that fails, too, report it with the log of crosswalk-fill`;
  const changes = [
    ...(removed > 0 ? [`${removed} would be removed`] : []),
    ...(reassigned > 0 ? [`${reassigned} would stand for other ids`] : []),
  ];
  return `too many of ${names} names (${kind}, ${source}) would change: ${changes.join(' and ')}. All stay as they were. If the sources are right, fill again and accept the removals (\`sis-relay crosswalk fill --accept-removals\`)`;
};

/** Records since when names are held. What was not compared is as it was. */
const noteHeld = async (
  checked: ReadonlyMap<string, string | undefined>,
  store: FillServices['store'],
): Promise<void> => {
  const { held: before } = heldIn(await store.readJsonIfAny(heldKey));
  const found = [...checked].flatMap(([of, problem]) => {
    const sinceMs = before.find((each) => each.of === of)?.sinceMs ?? Date.now();
    return problem === undefined ? [] : [{ of, problem, sinceMs }];
  });
  const held = [...before.filter(({ of }) => !checked.has(of)), ...found];
  await store.writeJson(heldKey, { held } satisfies HeldNames);
};

/** A failure that lasts ends the fill; the next fill starts anew. */
const endFillIfFailureLasts = async <Result>(
  untilMs: number,
  work: () => Promise<Result>,
): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    const { kind, message, remedy } = failureOf(error);
    if (kind === 'defect' || (isRetried(kind) && Date.now() < untilMs)) throw error;
    throw new Error(`The org units could not be listed: ${message}. ${remedy}`);
  }
};

/**
 * Reports the outcome in the log, the metrics and the execution's result. Names appear only in the bucket and in the command's
 * output.
 */
const reportResult = async (
  {
    files,
    fills,
    sources,
    ...found
  }: Pick<FillAnswer, 'files' | 'fills' | 'unread' | 'withoutUsers'> & { sources: string[] },
  { observe, store }: FillServices,
): Promise<FillAnswer> => {
  for (const { key, badRows } of files)
    if (badRows > 0)
      observe.warn(safe`rows of ${ownText(key)} cannot be used; ${reportKey} lists them`, { count: badRows });
  const checked = checkedIn({ files, fills });
  await noteHeld(checked, store);
  const problems = [...new Set([...checked.values()].flatMap((problem) => problem ?? []))];
  // A problem has counts and names of ours. What is wrong with a file is said without its content (`UnusableFile`).
  for (const problem of problems) observe.warn(safe`the crosswalk is not updated: ${ownText(problem)}`);
  const moved = await Promise.all(crosswalkSources.map((source) => movedSoFar(source, store)));
  const movedCodes = moved.reduce((sum, { codes }) => sum + codes.length, 0);
  if (movedCodes > 0)
    observe.warn(safe`codes have moved to other org units (\`sis-relay crosswalk moved\`)`, {
      count: movedCodes,
    });
  observe.count('CrosswalkMoved', { function: 'crosswalk-fill' }, movedCodes);
  const outcome = problems.length > 0 ? 'held' : 'filled';
  for (const each of ['filled', 'held'])
    observe.count('CrosswalkFills', { outcome: each }, each === outcome ? 1 : 0);
  observe.flush();
  const message =
    problems.length > 0 ? `${problems.join('; ')}.` : `The crosswalk is filled from ${sources.join(', ')}.`;
  return { outcome, message, ...found, fills, files };
};
