import { join } from 'node:path';
import type { JobStore } from '../durable/store.ts';
import { inFolder } from '../files/folder.ts';
import { keepMemoryBelow } from '../files/memory.ts';
import { createLineFile } from '../sets/line-file.ts';
import { createSorter, readLines } from '../sets/sorted.ts';
import type { Chosen } from './check.ts';
import type { Reason } from './select.ts';

/** Of the memory beside what a container has that has just started. */
export const garbageMb = 64;

/** A part of the work: of so many writes at least, so that an execution has operations enough for all of them. */
const minPartWrites = 1_000;
const maxParts = 1_000;

/** Should the night be too short: what is recent comes first, then the sample, as a part of it says nothing. */
const turns: Record<Reason, number> = { recent: 0, sample: 1, slice: 2, snapshot: 2 };

/** Of one org unit all lies together, as its classlist is read once. */
export const chosenLine = (chosen: Chosen): string => {
  const { reason, subject } = chosen;
  const turn = turns[reason];
  return `${turn}${String(subject.orgUnitId).padStart(16, '0')}${subject.kind[0]}\t${JSON.stringify(chosen)}`;
};

const placeIn = (line: string): string => line.slice(0, line.indexOf('\t'));

const chosenIn = (line: string): Chosen => JSON.parse(line.slice(line.indexOf('\t') + 1)) as Chosen;

type Dividing = {
  /** Of the objects that hold what was chosen. */
  keys: readonly string[];
  total: number;
  partKey(part: number): string;
};

/** Sorts what was chosen, and divides it into parts; answers how many. */
export const divide = ({ keys, total, partKey }: Dividing, store: JobStore): Promise<number> =>
  inFolder(async (folder) => {
    const sorter = createSorter({ folder });
    try {
      for (const [at, key] of keys.entries()) {
        const path = join(folder, `chosen-${at}`);
        await store.downloadUnpacked(key, path, garbageMb);
        for (const line of readLines(path)) sorter.add(line);
        keepMemoryBelow(garbageMb);
      }
      const size = Math.max(minPartWrites, Math.ceil(total / maxParts));
      let parts = 0;
      let held = 0;
      let last = '';
      let file = createLineFile(join(folder, 'part'));
      const upload = async (): Promise<void> => {
        file.close();
        await store.uploadCompressed(partKey(parts), file.path);
        parts += 1;
        held = 0;
        file = createLineFile(join(folder, 'part'));
        keepMemoryBelow(garbageMb);
      };
      try {
        for (const line of sorter.sorted()) {
          const place = placeIn(line);
          // No group is in two parts.
          if (held >= size && place !== last) await upload();
          file.add(line);
          held += 1;
          last = place;
        }
        if (held > 0) await upload();
      } finally {
        file.close();
      }
      return parts;
    } finally {
      sorter.remove();
    }
  });

/** What a part holds, in groups: the enrollments of an org unit together, each grade for itself. */
export const groupsIn = (key: string, store: JobStore): Promise<Chosen[][]> =>
  inFolder(async (folder) => {
    const path = join(folder, 'part');
    await store.downloadUnpacked(key, path, garbageMb);
    const groups: Chosen[][] = [];
    let last = '';
    for (const line of readLines(path)) {
      const place = placeIn(line);
      const chosen = chosenIn(line);
      const before = groups.at(-1);
      if (chosen.subject.kind === 'enrollment' && place === last && before) before.push(chosen);
      else groups.push([chosen]);
      last = place;
    }
    return groups;
  });
