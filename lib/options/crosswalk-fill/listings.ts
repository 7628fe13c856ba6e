import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { shardOf } from '../../crosswalk/table.ts';
import { isRetried } from '../../message/failure-kinds.ts';
import { safe } from '../../message/safe-text.ts';
import { maxSisIdLength } from '../../message/sis-ids.ts';
import type { Platform } from '../../platform/client/client.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { undefinedIfNotFound } from '../../platform/client/not-found.ts';
import type { Operation } from '../../platform/client/operation.ts';
import type { CallInput } from '../../platform/client/request.ts';
import { getClasslistPages, listClasslist } from '../../platform/resources/classlists.ts';
import { courseOffering, getOrgUnits, listOrgUnitPages } from '../../platform/resources/org-units.ts';
import { inFolder } from '../../runtime/files/folder.ts';
import { keepMemoryBelow } from '../../runtime/files/memory-limit.ts';
import { createLineFile, type LineFile } from '../../runtime/files/tables/line-file.ts';
import { bulkPlatform } from '../../runtime/jobs/bulk-platform.ts';
import type { JobServices } from '../../runtime/jobs/job-services.ts';
import type { WorkList } from '../../runtime/jobs/work-list.ts';

/** The calls of the platform that a fill makes. */
export const fillOperations: readonly Operation<unknown>[] = [getOrgUnits, getClasslistPages];

export type ListingServices = Pick<JobServices, 'platform' | 'store' | 'observe' | 'callUsage'>;

/** Garbage in MB that a fill may leave uncollected, beside the memory of a container that has just started. */
export const memoryAllowanceMb = 40;
/** Number of org units that one step lists: a lost step is soon repeated. */
const maxOrgUnits = 20_000;
type ListOptions = {
  /** Key of the object that receives the lines. */
  key: string;
  /** Longest duration. */
  timeMs: number;
};

export type OrgUnitsListed = {
  /** Where to continue; undefined: the list is complete. */
  following?: CallInput;
  orgUnits: number;
  withoutCode: number;
  /** The ids of its courses, if they are wanted. */
  courses: number[];
};

/** Lists org units with their codes, starting with a page. @throws if not even one page can be read. */
export const listOrgUnitCodes = (
  { key, timeMs, from, wantsCourses }: ListOptions & { from: CallInput; wantsCourses: boolean },
  services: ListingServices,
): Promise<OrgUnitsListed> =>
  inFolder(async (folder) => {
    const listed: OrgUnitsListed = { orgUnits: 0, withoutCode: 0, courses: [] };
    let tooLong = 0;
    const file = createLineFile(join(folder, 'org-units'));
    let following: CallInput | undefined = from;
    const endsMs = Date.now() + timeMs;
    const signal = AbortSignal.timeout(timeMs);
    const platform = bulkPlatform(services, { operations: fillOperations, signal });
    try {
      for await (const page of listOrgUnitPages(platform, from)) {
        tooLong += page.items.filter(({ Code }) => isTooLong(Code)).length;
        for (const { Identifier, Code, Type } of page.items) {
          listed.orgUnits += 1;
          const id = Number(Identifier);
          if (wantsCourses && Type.Id === courseOffering) listed.courses.push(id);
          if (isName(Code) && isId(id)) file.add(listedLine(Code, id));
          else listed.withoutCode += 1;
        }
        following = page.following;
        keepMemoryBelow(memoryAllowanceMb);
        if (listed.orgUnits >= maxOrgUnits || Date.now() >= endsMs) break;
      }
    } catch (error) {
      // What was read is kept; the next step meets the failure again.
      if (listed.orgUnits === 0) throw error;
    } finally {
      file.close();
      await services.callUsage.write();
    }
    warnOfLong(tooLong, services);
    await services.store.uploadCompressed(key, file.path);
    return following === undefined ? listed : { ...listed, following };
  });

export const userKinds = ['userName', 'orgDefinedId'] as const;
export type UserKind = (typeof userKinds)[number];

export type ClasslistsListed = {
  /** Keys of the objects with the lines, by kind of name. */
  keys: Record<UserKind, string[]>;
  /** Number of courses that could not be read. */
  failed: number;
  /** Number of names that privacy hides. */
  hidden: number;
  tooLong: number;
};

/** Lists the users of courses: each step writes one object for each kind of name. */
export const classlistList = (
  folder: string,
  services: ListingServices & { limits: { maxWaitMs: number } },
): WorkList<number, ClasslistsListed> => ({
  what: safe`the reading of classlists`,
  nameOf: (first, last) => `classlists ${first} to ${last}`,
  noSum: () => ({ keys: { userName: [], orgDefinedId: [] }, failed: 0, hidden: 0, tooLong: 0 }),
  add: (sum, { keys, failed, hidden, tooLong }) => {
    for (const kind of userKinds) sum.keys[kind].push(...keys[kind]);
    sum.failed += failed;
    sum.hidden += hidden;
    sum.tooLong += tooLong;
  },
  inStep: ({ sum, signal }, work) =>
    inFolder(async (temporary) => {
      const files = {
        userName: createLineFile(join(temporary, 'user-names')),
        orgDefinedId: createLineFile(join(temporary, 'org-defined-ids')),
      };
      const platform = bulkPlatform(services, { operations: fillOperations, signal });
      try {
        await work(async (course) => {
          try {
            // A course that no longer exists has no users.
            await undefinedIfNotFound(addClasslist(course, { platform, files, sum }));
            keepMemoryBelow(memoryAllowanceMb);
          } catch (error) {
            if (signal.aborted) return { left: course, answered: false };
            const failure = failureOf(error);
            if (failure.kind === 'defect') throw error;
            if (isRetried(failure.kind)) return { left: course, failure, answered: false };
            sum.failed += 1;
          }
          return { answered: true };
        });
      } finally {
        for (const file of Object.values(files)) file.close();
        await services.callUsage.write();
      }
      for (const kind of userKinds) {
        const key = `${folder}${kind}-${randomUUID()}.gz`;
        await services.store.uploadCompressed(key, files[kind].path);
        sum.keys[kind].push(key);
      }
    }),
  giveUp: (sum) => {
    sum.failed += 1;
  },
  concurrency: { steps: 1, items: 16 },
  minPerStep: 200,
  maxWaitMs: services.limits.maxWaitMs,
});

/** The bucket's digits, a name as JSON, which holds no tab and no line break, and what it stands for. */
const listedLine = (name: string, id: number): string => `${shardOf(name)}\t${JSON.stringify(name)}\t${id}`;

type AddOptions = {
  platform: Platform;
  files: Record<UserKind, LineFile>;
  sum: ClasslistsListed;
};

const addClasslist = async (orgUnitId: number, { platform, files, sum }: AddOptions): Promise<void> => {
  for await (const { Identifier, Username, OrgDefinedId } of listClasslist(platform, orgUnitId)) {
    const id = Number(Identifier);
    if (!isId(id)) continue;
    for (const [kind, name] of [
      ['userName', Username],
      ['orgDefinedId', OrgDefinedId],
    ] as const)
      if (isName(name)) files[kind].add(listedLine(name, id));
      else if (isTooLong(name)) sum.tooLong += 1;
      else sum.hidden += 1;
  }
};

const isName = (name: string | null | undefined): name is string =>
  typeof name === 'string' && name !== '' && !isTooLong(name);

/** No message may have such a name, and it would fill its bucket. */
const isTooLong = (name: string | null | undefined): boolean => (name?.length ?? 0) > maxSisIdLength;

export const warnOfLong = (count: number, { observe }: Pick<ListingServices, 'observe'>): void => {
  if (count > 0)
    observe.warn(
      safe`names of more than ${maxSisIdLength} characters are left out: no message may have one`,
      {
        count,
      },
    );
};

const isId = (id: number): boolean => Number.isSafeInteger(id) && id > 0;
