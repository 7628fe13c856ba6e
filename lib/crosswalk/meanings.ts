import DataLoader from 'dataloader';
import { MessageFailure } from '../message/failure.ts';
import { type SafeText, safe, safeList } from '../message/safe-text.ts';
import type { SisId } from '../message/sis-ids.ts';
import { type CrosswalkKind, crosswalkSources } from './kinds.ts';
import {
  acceptedBucketOf,
  bucketOf,
  type CrosswalkTable,
  type Entries,
  isAccepted,
  maxIds,
} from './table.ts';
import { detailOf } from './unknown-id.ts';

/** What a name stands for: not all of many ids are known, but their number. */
export type Meaning = { ids: readonly number[]; count: number };

export const meaningOfAll = (ids: readonly number[]): Meaning => ({ ids, count: ids.length });

/** A container trusts what it has read for this time, for messages that were sent before. */
export const keptMs = 600_000;
/** Maximum number of names; the one read first is forgotten. */
const maxNames = 50_000;

type MeaningsOptions = { table: Pick<CrosswalkTable, 'namesIn'>; nowMs(): number };

/** What names stand for by the table, and what was read of it shortly before. */
export class Meanings {
  readonly #nowMs: () => number;
  readonly #kept = new Map<string, { meaning: Meaning; readMs: number }>();
  /** One request for all messages of a batch that ask at the same time. */
  readonly #buckets: DataLoader<string, Entries | undefined>;

  constructor({ table, nowMs }: MeaningsOptions) {
    this.#nowMs = nowMs;
    const read = async (buckets: readonly string[]) => {
      const found = await table.namesIn([...buckets]);
      return buckets.map((bucket) => found.get(bucket));
    };
    this.#buckets = new DataLoader(read, { cache: false, maxBatchSize: 100 });
  }

  /**
   * A meaning that was read before the message was sent is not used.
   * @throws MessageFailure of kind `ambiguous-id`, if the name has moved.
   */
  async of(kind: CrosswalkKind, sisId: SisId, sentMs: number): Promise<Meaning> {
    const name = nameOf(kind, sisId);
    const known = this.#kept.get(name);
    const readMs = this.#nowMs();
    if (known !== undefined && known.readMs >= Math.max(sentMs, readMs - keptMs)) return known.meaning;
    const meaning = await this.#read(kind, sisId);
    this.#kept.delete(name);
    if (meaning.count > 0) this.#kept.set(name, { meaning, readMs });
    const [first] = this.#kept.keys();
    if (this.#kept.size > maxNames && first !== undefined) this.#kept.delete(first);
    return meaning;
  }

  forget(kind: CrosswalkKind, sisId: SisId): void {
    this.#kept.delete(nameOf(kind, sisId));
  }

  async #read(kind: CrosswalkKind, sisId: SisId): Promise<Meaning> {
    const { value } = sisId;
    const read = await this.#buckets.loadMany(
      crosswalkSources.map((source) => bucketOf(kind, source, value)),
    );
    const entries = read.flatMap((names) => {
      if (names instanceof Error) throw names;
      return names?.get(value) ?? [];
    });
    const ids = [...new Set(entries.flatMap((entry) => entry.ids))];
    // Both sources may mean the same ones.
    const count = Math.max(ids.length, ...entries.map((entry) => entry.ids.length + (entry.more ?? 0)));
    const moves = entries.filter(({ was = [] }) => was.length > 0);
    if (moves.length === 0 || ids.length !== 1) return { ids, count };
    const accepted = (await this.#buckets.load(acceptedBucketOf(value)))?.get(value);
    const open = moves.find((move) => !isAccepted(move, accepted));
    if (open === undefined) return { ids, count };
    throw moved(sisId, open.was ?? [], ids);
  }
}

const nameOf = (kind: CrosswalkKind, { value }: SisId): string => `${kind}/${value}`;

const moved = (sisId: SisId, was: readonly number[], ids: readonly number[]): MessageFailure =>
  new MessageFailure(
    'ambiguous-id',
    safe`data.${sisId.field} stood for ${listed(meaningOfAll(was))}, and now stands for ${listed(meaningOfAll(ids))}`,
    {
      detail: detailOf(sisId),
      remedy:
        'Check whether the code has permanently moved to another org unit (`sis-relay crosswalk moved`). If so, accept the move (`sis-relay crosswalk accept <code>`) and replay. If not, correct the code on the platform.',
    },
  );

export const listed = ({ ids, count }: Meaning): SafeText => {
  const shown = ids.slice(0, maxIds);
  const last = count > shown.length ? safe`${count - shown.length} more` : safe`${shown.pop() ?? 0}`;
  return shown.length === 0 ? last : safe`${safeList(shown.map((id) => safe`${id}`))} and ${last}`;
};
