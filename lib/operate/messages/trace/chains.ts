import { historyIn } from '../../../delivery/letters/history.ts';
import { recordsOf, scanned } from '../../../delivery/letters/read-records.ts';
import type { DeskRecord, DeskTable } from '../../../delivery/letters/record.ts';

/** One message of a producer, with each id that SQS gave it: the first one, and one per replay. */
export type Chain = { ids: Set<string>; records: DeskRecord[] };

/** The form of SQS' message ids. */
const wholeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The messages that `id` names: the id of a message or letter or its beginning, the id of an event, or a resource. Reads all records,
 * unless it is the whole id of a message that has a record.
 */
export const findChains = async (desk: DeskTable, id: string, signal: AbortSignal): Promise<Chain[]> => {
  const known = wholeId.test(id) ? [...(await recordsOf(desk, [id], { signal })).values()] : [];
  const seeds = known.length > 0 ? known : await scanned(desk, isNamed(id), { signal });
  const records = new Map(seeds.map((record) => [record.message, record]));
  for (let asked = [...records.values()]; asked.length > 0; ) {
    const missing = asked.flatMap(linksOf).filter((each) => !records.has(each));
    const found = await recordsOf(desk, missing, { signal });
    for (const [message, record] of found) records.set(message, record);
    asked = [...found.values()];
  }
  return chainsOf([...records.values()]);
};

const isNamed = (id: string) => ({
  text: 'begins_with(#message, :id) OR #eventId = :id OR #resource = :id OR begins_with(#as, :id) OR contains(#history, :letter)',
  names: {
    ...{ '#message': 'message', '#eventId': 'eventId', '#resource': 'resource' },
    ...{ '#as': 'as', '#history': 'history' },
  },
  // In the form of the stored history.
  values: { ':id': id, ':letter': `"letter":${JSON.stringify(id).slice(0, -1)}` },
});

/** The earlier and later ids of the same message. */
const linksOf = ({ as, history }: DeskRecord): string[] => [
  ...(as === undefined ? [] : [as]),
  ...(historyIn(history)?.deeds ?? []).map(({ letter }) => letter),
];

const chainsOf = (records: DeskRecord[]): Chain[] => {
  const chains = new Set<Chain>();
  for (const record of records) {
    const ids = new Set([record.message, ...linksOf(record)]);
    const joined: Chain = { ids, records: [record] };
    for (const chain of chains) {
      if (chain.ids.isDisjointFrom(ids)) continue;
      chains.delete(chain);
      joined.ids = joined.ids.union(chain.ids);
      joined.records.push(...chain.records);
    }
    chains.add(joined);
  }
  return [...chains];
};

/** The record of its last id; undefined if there is none. */
export const tailOf = ({ records }: Chain): DeskRecord | undefined => {
  const earlier = new Set(
    records.flatMap((record) => (historyIn(record.history)?.deeds ?? []).map(({ letter }) => letter)),
  );
  const messages = new Set(records.map(({ message }) => message));
  const isLast = ({ message, as }: DeskRecord): boolean =>
    !earlier.has(message) && !(as !== undefined && messages.has(as));
  const last = records.filter(isLast);
  return (last.length > 0 ? last : records).toSorted((one, other) => one.atMs - other.atMs).at(-1);
};
