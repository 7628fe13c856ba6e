import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { CrosswalkKind } from '../../../../lib/crosswalk/kinds.ts';
import { filledKey, movedKey } from '../../../../lib/crosswalk/moved.ts';

type Entry = { ids: readonly number[]; was?: readonly number[] };
export type Names = Readonly<Record<string, number | readonly number[]>>;

/** What a look-up gives: the id, or why there is none. */
export type Found = { id: number } | { problem: string };

export type Crosswalk = ReturnType<typeof newCrosswalk>;

const same = (one: readonly number[] = [], other: readonly number[] = []): boolean =>
  one.join() === other.join();

/** A crosswalk in memory, which writes each fill where an import reads it. It is filled from files of the university. */
export const newCrosswalk = (bucket: { write(key: string, content: string | Buffer): void }) => {
  const kinds = new Map<CrosswalkKind, Map<string, Entry>>();
  const accepted = new Set<string>();
  const of = (kind: CrosswalkKind): Map<string, Entry> => kinds.get(kind) ?? new Map();
  const moveOf = (code: string, { ids, was = [] }: Entry): string => [code, was, ids].join(' ');

  /** A code that stands for another org unit than it stood for is open until an operator has accepted that. */
  const moved = (code: string, ids: readonly number[], before: Entry | undefined): Entry => {
    const was = before?.was ?? (before?.ids.length === 1 ? before.ids : undefined);
    if (was === undefined || same(was, ids)) return { ids };
    return accepted.has(moveOf(code, { ids, was })) ? { ids } : { ids, was };
  };

  const write = (kind: CrosswalkKind): void => {
    const lines = [...of(kind)].map(([name, { ids, was = [] }]) =>
      [hash('sha256', name).slice(0, 4), JSON.stringify(name), ids.join(), was.join()].join('\t'),
    );
    bucket.write(filledKey(kind, 'file'), gzipSync(lines.map((line) => `${line}\n`).join('')));
    if (kind !== 'orgUnitCode') return;
    const codes = [...of(kind)].flatMap(([code, { ids, was }]) =>
      was !== undefined && ids.length === 1 ? [{ code, ids, was, sinceMs: 0 }] : [],
    );
    bucket.write(movedKey('file'), JSON.stringify({ codes }));
  };

  return {
    /** Fills it with all names of a kind: those that are not among them are unknown from now on. */
    fill: (kind: CrosswalkKind, names: Names): void => {
      const before = of(kind);
      const now = new Map<string, Entry>();
      for (const [name, given] of Object.entries(names)) {
        const ids = [given].flat().sort((one, other) => one - other);
        now.set(name, kind === 'orgUnitCode' ? moved(name, ids, before.get(name)) : { ids });
      }
      // A code that was removed may come back for another org unit.
      if (kind === 'orgUnitCode')
        for (const [code, { ids, was = ids }] of before) if (!now.has(code)) now.set(code, { ids: [], was });
      kinds.set(kind, now);
      write(kind);
    },
    /** As an operator accepts the move of a code. The next fill settles it. */
    accept: (code: string): void => {
      const entry = of('orgUnitCode').get(code);
      if (entry?.was !== undefined) accepted.add(moveOf(code, entry));
    },
    isOpen: (code: string): boolean => {
      const entry = of('orgUnitCode').get(code);
      return entry?.was !== undefined && entry.ids.length > 0;
    },
    /** What a function finds when it handles a message. */
    find: (kind: CrosswalkKind, name: string): Found => {
      const entry = of(kind).get(name);
      const [id, second] = entry?.ids ?? [];
      if (entry === undefined || id === undefined) return { problem: `unknown-id ${kind} ${name}` };
      if (second !== undefined) return { problem: `ambiguous-id ${kind} ${name}` };
      if (entry.was !== undefined && !accepted.has(moveOf(name, entry)))
        return { problem: `ambiguous-id ${kind} ${name} has moved` };
      return { id };
    },
    /** The id that the last fill gives for a name, whether or not its move is accepted. */
    idOf: (kind: CrosswalkKind, name: string): number | undefined => of(kind).get(name)?.ids[0],
    /** Which id a code of an open move stood for. */
    stoodFor: (code: string): number | undefined => of('orgUnitCode').get(code)?.was?.[0],
  };
};
