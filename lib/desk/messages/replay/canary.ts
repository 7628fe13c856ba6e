import { eventIn } from '../../../message/envelope.ts';
import { versionOf } from '../../../message/version.ts';
import type { LeasedLetters } from '../letters/leased-letters.ts';
import type { Letter } from '../letters/letter.ts';
import type { SelectedLetter } from '../letters/list.ts';

/**
 * One letter of each cause in turn, up to `size`, and at least one of each cause. Of each resource the newest letter goes first: an older
 * one would wait for it.
 */
export const canaryOf = async (
  { letters, read }: Pick<LeasedLetters<SelectedLetter>, 'letters' | 'read'>,
  size: number,
): Promise<SelectedLetter[]> => {
  const older = await olderOnes(letters, read);
  const groups = [...Map.groupBy(letters, ({ group }) => group).values()].map((each) => [
    ...each.filter((letter) => !older.has(letter)),
    ...each.filter((letter) => older.has(letter)),
  ]);
  const longest = Math.max(0, ...groups.map((each) => each.length));
  const inTurn = Array.from({ length: Math.min(longest, size) }, (_, at) =>
    groups.flatMap((each) => each[at] ?? []),
  );
  return inTurn.flat().slice(0, Math.max(size, groups.length));
};

/** The letters of whose resource another one is newer. */
const olderOnes = async (
  letters: readonly SelectedLetter[],
  read: LeasedLetters<SelectedLetter>['read'],
): Promise<Set<SelectedLetter>> => {
  const older = new Set<SelectedLetter>();
  for (const [resource, alike] of Map.groupBy(letters, ({ record }) => record.resource)) {
    if (resource === undefined || alike.length < 2) continue;
    let newest: { letter: SelectedLetter; version: string } | undefined;
    for (const letter of alike) {
      const version = versionIn(await read(letter));
      if (newest === undefined || version > newest.version) {
        if (newest) older.add(newest.letter);
        newest = { letter, version };
      } else older.add(letter);
    }
  }
  return older;
};

/** Empty if the body gives none. */
const versionIn = ({ body, function: name }: Letter): string => {
  const { time, sequence, id, source } = Object(eventIn(body)) as Record<string, unknown>;
  const [given, sequenced] = [String(time), sequence === undefined ? undefined : String(sequence)];
  if (Number.isNaN(Date.parse(given))) return '';
  return versionOf({ time: given, sequence: sequenced, id: String(id), source: String(source) }, name);
};
