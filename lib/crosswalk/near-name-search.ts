import { type CrosswalkKind, crosswalkSources } from './kinds.ts';
import { keptMs } from './meanings.ts';
import { candidatesFor, type NearName, nearestOf } from './near-names.ts';
import { bucketOf, type CrosswalkTable } from './table.ts';

/** So many unknown names are searched for what is near them, in the time for which names are trusted. */
const maxNears = 20;

type SearchOptions = { table: Pick<CrosswalkTable, 'namesIn'>; nowMs(): number };

/** Searches the table for a name near an unknown one: for few of them, as each takes some hundred names. */
export class NearNameSearch {
  readonly #table: SearchOptions['table'];
  readonly #nowMs: () => number;
  readonly #nears = new Map<string, { near: Promise<NearName | undefined>; readMs: number }>();

  constructor({ table, nowMs }: SearchOptions) {
    this.#table = table;
    this.#nowMs = nowMs;
  }

  nearTo(kind: CrosswalkKind, value: string): Promise<NearName | undefined> {
    const nowMs = this.#nowMs();
    const key = `${kind}/${value}`;
    for (const [each, { readMs }] of this.#nears) if (readMs < nowMs - keptMs) this.#nears.delete(each);
    const known = this.#nears.get(key)?.near;
    if (known !== undefined || this.#nears.size >= maxNears) return known ?? Promise.resolve(undefined);
    const near = this.#search(kind, value).catch(() => undefined);
    this.#nears.set(key, { near, readMs: nowMs });
    return near;
  }

  async #search(kind: CrosswalkKind, value: string): Promise<NearName | undefined> {
    const names = candidatesFor(value);
    const bucketsFor = (name: string) => crosswalkSources.map((source) => bucketOf(kind, source, name));
    const found = await this.#table.namesIn(names.flatMap(bucketsFor));
    return nearestOf(
      value,
      names.filter((name) => bucketsFor(name).some((bucket) => found.get(bucket)?.has(name))),
    );
  }
}
