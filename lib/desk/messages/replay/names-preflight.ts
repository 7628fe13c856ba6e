import { type CrosswalkKind, crosswalkSources } from '../../../crosswalk/kinds.ts';
import { bucketOf, createCrosswalkTable } from '../../../crosswalk/table.ts';
import { unknownNameIn } from '../../../crosswalk/unknown-id.ts';
import { possibleNames } from '../../../delivery/letters/subject.ts';
import { unlessError } from '../../../runtime/aws/error.ts';
import type { Target } from '../../../stage/target.ts';
import type { SelectedLetter } from '../letters/list.ts';
import type { Preflight } from './preflight.ts';

/** As they are many requests, of more letters only the first are looked at, unless only such were selected. */
const maxLetters = 2_000;

type Wanted = { kind: CrosswalkKind; names: string[] };

/** Letters with a name that the crosswalk does not know: their messages would wait for hours, and become letters again. */
export const namesPreflight = async (
  { dynamodb, crosswalkTable }: Pick<Target, 'dynamodb' | 'crosswalkTable'>,
  letters: readonly SelectedLetter[],
): Promise<Preflight> => {
  const wanted = new Map<SelectedLetter, Wanted>();
  for (const letter of letters) {
    const unknown = letter.record.kind === 'unknown-id' ? unknownNameIn(letter.record.error) : undefined;
    const names = unknown && possibleNames(unknown.field, letter.record.named);
    if (unknown && names?.length) wanted.set(letter, { kind: unknown.kind, names });
  }
  if (crosswalkTable === undefined || wanted.size === 0) return () => undefined;
  const looked = [...wanted].slice(0, wanted.size === letters.length ? wanted.size : maxLetters);
  const table = createCrosswalkTable({ dynamodb, table: crosswalkTable, nowMs: Date.now });
  const bucketsOf = (kind: CrosswalkKind, name: string): string[] =>
    crosswalkSources.map((source) => bucketOf(kind, source, name));
  const buckets = looked.flatMap(([, { kind, names }]) => names.flatMap((name) => bucketsOf(kind, name)));
  const found = await unlessError(/AccessDenied|ResourceNotFound/, () => table.namesIn(buckets));
  // Where the table cannot be read, the canary shows it.
  if (found === undefined) return () => undefined;
  const isKnown = ({ kind, names }: Wanted): boolean =>
    names.some((name) => bucketsOf(kind, name).some((bucket) => found.get(bucket)?.has(name)));
  const known = new Map(looked.map(([letter, each]) => [letter, isKnown(each)]));
  return (letter) => {
    if (!wanted.has(letter) || known.get(letter)) return undefined;
    if (!known.has(letter)) return 'unchecked';
    return { why: 'the crosswalk still does not know their names', todo: letter.group.remedy };
  };
};
