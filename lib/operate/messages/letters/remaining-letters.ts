import { recordsOf } from '../../../delivery/letters/read-records.ts';
import type { LetterRecord } from '../../../delivery/letters/record.ts';
import type { Target } from '../../stage/target.ts';
import { groupsOf } from './groups.ts';
import { deskOf } from './records.ts';
import { withLetters } from './selection.ts';

/**
 * Finds which ids are those of letters, or of messages that are letters again under another id. The lists show which may be; the queue
 * shows which are: the letters that it returns, or that somebody else may have leased.
 */
export const stillLetters = async (
  target: Target,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Set<string>> => {
  const listed = await listedAs(target, ids, signal);
  const records = [...new Map([...listed.values()].map((record) => [record.message, record])).values()];
  const { groupOf } = groupsOf(records);
  const letters = records.map((record) => ({ id: record.message, record, group: groupOf(record) }));
  const { there } = await withLetters(target, { letters, signal }, async (inHand) => ({
    there: new Set([...inHand.letters, ...(inHand.held > 0 ? inHand.gone : [])].map(({ id }) => id)),
  }));
  return new Set([...listed].flatMap(([id, { message }]) => (there.has(message) ? [id] : [])));
};

/** The listed letter of each id. */
const listedAs = async (
  target: Target,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, LetterRecord>> => {
  const desk = deskOf(target);
  const found = new Map<string, LetterRecord>();
  let open = new Map(ids.map((id) => [id, id]));
  const asked = new Set<string>();
  while (open.size > 0) {
    const records = await recordsOf(desk, [...open.values()], { signal });
    const next: typeof open = new Map();
    for (const [id, message] of open) {
      asked.add(message);
      const record = records.get(message);
      if (record?.state === 'letter') found.set(id, record as LetterRecord);
      else if (record?.as !== undefined && !asked.has(record.as)) next.set(id, record.as);
    }
    open = next;
  }
  return found;
};
