import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { inParallel } from '../../aws/parallel.ts';
import type { JobStore } from '../../durable/store.ts';
import { dispositions, failureOf } from '../../failure.ts';
import { inFolder } from '../../files/folder.ts';
import { keepMemoryBelow } from '../../files/memory.ts';
import type { Platform, PlatformClient } from '../../platform/client.ts';
import { undefinedIfNotFound } from '../../platform/core/not-found.ts';
import type { Operation } from '../../platform/core/operation.ts';
import type { CallInput } from '../../platform/core/request.ts';
import { getClasslistPages, listClasslist } from '../../platform/resources/classlists.ts';
import { courseOffering, getOrgUnits, listOrgUnitPages } from '../../platform/resources/org-units.ts';
import { createLineFile, type LineFile } from '../../sets/line-file.ts';
import type { Observe } from '../../telemetry/observe.ts';
import type { PaceUseRecord } from '../../telemetry/pace-use.ts';
import { shardOf } from '../table.ts';

/** What the fill calls. */
export const fillOperations: readonly Operation<unknown>[] = [getOrgUnits, getClasslistPages];

export type Listening = {
  platform: PlatformClient;
  store: JobStore;
  observe: Observe;
  /** Tells how much it calls of what the platform grants. */
  paceUse: PaceUseRecord;
};

/** A fill lets so much garbage lie, beside the memory of a container that has just started. */
export const garbageMb = 40;
/** So many org units are listed by one step: one that is lost is soon repeated. */
const maxOrgUnits = 20_000;
/** No name of an SIS is longer: one that is would fill its bucket. */
export const maxNameLength = 500;

type Asked = {
  /** Where the lines go. */
  key: string;
  /** For how long at most. */
  timeMs: number;
};

export type OrgUnitsListed = {
  /** Where to go on; undefined: the list is complete. */
  following?: CallInput;
  orgUnits: number;
  withoutCode: number;
  /** The ids of its courses, if they are wanted. */
  courses: number[];
};

/** Lists org units with their codes, from a page on. @throws where not even one page can be read. */
export const listOrgUnitCodes = (
  { key, timeMs, from, wantsCourses }: Asked & { from: CallInput; wantsCourses: boolean },
  services: Listening,
): Promise<OrgUnitsListed> =>
  inFolder(async (folder) => {
    const listed: OrgUnitsListed = { orgUnits: 0, withoutCode: 0, courses: [] };
    const file = createLineFile(join(folder, 'org-units'));
    let following: CallInput | undefined = from;
    const endsMs = Date.now() + timeMs;
    try {
      for await (const page of listOrgUnitPages(platformFor(services, timeMs), from)) {
        for (const { Identifier, Code, Type } of page.items) {
          listed.orgUnits += 1;
          const id = Number(Identifier);
          if (wantsCourses && Type.Id === courseOffering) listed.courses.push(id);
          if (isName(Code) && isId(id)) file.add(listedLine(Code, id));
          else listed.withoutCode += 1;
        }
        following = page.following;
        keepMemoryBelow(garbageMb);
        if (listed.orgUnits >= maxOrgUnits || Date.now() >= endsMs) break;
      }
    } catch (error) {
      // What was read stays read; the next step meets the failure again.
      if (listed.orgUnits === 0) throw error;
    } finally {
      file.close();
      await services.paceUse.write();
    }
    await services.store.uploadCompressed(key, file.path);
    return following === undefined ? listed : { ...listed, following };
  });

export type ClasslistsListed = {
  /** Not read in time, or not for now. */
  left: number[];
  /** How many could not be read, and will not be. */
  failed: number;
  /** Names that privacy hides, by kind. */
  hidden: { userName: number; orgDefinedId: number };
};

/** Lists the users of courses: their lines go to two objects, by the kind of their names. */
export const listClasslistNames = (
  { keys, timeMs, courses }: Pick<Asked, 'timeMs'> & { keys: Record<UserKind, string>; courses: number[] },
  services: Listening,
): Promise<ClasslistsListed> =>
  inFolder(async (folder) => {
    const listed: ClasslistsListed = { left: [], failed: 0, hidden: { userName: 0, orgDefinedId: 0 } };
    const files = {
      userName: createLineFile(join(folder, 'user-names')),
      orgDefinedId: createLineFile(join(folder, 'org-defined-ids')),
    };
    const endsMs = Date.now() + timeMs;
    const platform = platformFor(services, timeMs);
    const read = async (orgUnitId: number): Promise<void> => {
      if (Date.now() >= endsMs) {
        listed.left.push(orgUnitId);
        return;
      }
      try {
        // A course that is gone has no users.
        await undefinedIfNotFound(addClasslist(orgUnitId, { platform, files, hidden: listed.hidden }));
        keepMemoryBelow(garbageMb);
      } catch (error) {
        const { kind } = failureOf(error);
        if (kind === 'defect') throw error;
        if (dispositions[kind] === 'wait') listed.left.push(orgUnitId);
        else listed.failed += 1;
      }
    };
    try {
      await inParallel(courses, read);
    } finally {
      for (const file of Object.values(files)) file.close();
      await services.paceUse.write();
    }
    for (const kind of userKinds) await services.store.uploadCompressed(keys[kind], files[kind].path);
    return listed;
  });

export const userKinds = ['userName', 'orgDefinedId'] as const;
export type UserKind = (typeof userKinds)[number];

/** The bucket's digits, a name as JSON, which holds no tab and no line break, and what it stands for. */
const listedLine = (name: string, id: number): string => `${shardOf(name)}\t${JSON.stringify(name)}\t${id}`;

type Adding = {
  platform: Platform;
  files: Record<UserKind, LineFile>;
  hidden: ClasslistsListed['hidden'];
};

const addClasslist = async (orgUnitId: number, { platform, files, hidden }: Adding): Promise<void> => {
  for await (const { Identifier, Username, OrgDefinedId } of listClasslist(platform, orgUnitId)) {
    const id = Number(Identifier);
    if (!isId(id)) continue;
    for (const [kind, name] of [
      ['userName', Username],
      ['orgDefinedId', OrgDefinedId],
    ] as const)
      if (isName(name)) files[kind].add(listedLine(name, id));
      else hidden[kind] += 1;
  }
};

const isName = (name: string | null | undefined): name is string =>
  typeof name === 'string' && name !== '' && name.length <= maxNameLength;

const isId = (id: number): boolean => Number.isSafeInteger(id) && id > 0;

const platformFor = ({ platform, observe, paceUse }: Listening, timeMs: number): Platform => {
  const signal = AbortSignal.timeout(timeMs);
  // Every call in progress adds a listener.
  setMaxListeners(0, signal);
  return platform.for({
    ...{ actor: undefined, operations: fillOperations, signal, priority: 'bulk' },
    onCall: (call) => {
      observe.call(call);
      paceUse.heard([call]);
    },
  });
};
