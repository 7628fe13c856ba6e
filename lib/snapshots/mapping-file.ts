import { type MappedMessage, type Mapping, readMapping } from '../mapping/mapping.ts';
import { fileNameOf, snapshotsPrefix } from './request.ts';
import type { SnapshotServices } from './services.ts';
import { UnusableSnapshot } from './unusable.ts';

/** Each message has a key: so a row is known again in a later snapshot. */
export type SnapshotMapping = Omit<Mapping, 'messages'> & {
  messages: readonly (MappedMessage & { key: readonly string[] })[];
};

/** Where the mapping of a table lies: beside it, or for all. */
export const mappingKeysOf = (key: string): [own: string, ofAll: string] => [
  `${key.replace(/\.csv$/i, '')}.mapping.json`,
  `${snapshotsPrefix}mapping.json`,
];

/** A message is known by one sign, in the state and in the ids of its events. */
const maxMessages = 36;

/** @throws UnusableSnapshot where there is none, or it cannot be used. */
export const mappingFor = async (
  key: string,
  { store, integrations }: Pick<SnapshotServices, 'integrations'> & { store: Store },
): Promise<SnapshotMapping> => {
  const [own, ofAll] = mappingKeysOf(key);
  const ownText = await store.textIfAny(own);
  const text = ownText ?? (await store.textIfAny(ofAll));
  if (text === undefined)
    throw new UnusableSnapshot(
      `Nothing says what the columns of ${fileNameOf(key)} mean: put a mapping to ${own}, or to ${ofAll} for all tables`,
    );
  const read = readMapping(text, integrations);
  const problems = 'problems' in read ? read.problems : problemsOf(read.mapping);
  if ('mapping' in read && problems.length === 0) return read.mapping as SnapshotMapping;
  const place = ownText === undefined ? ofAll : own;
  throw new UnusableSnapshot(`${place} cannot be used for a snapshot: ${problems.join('; ')}`);
};

type Store = Pick<SnapshotServices['store'], 'textIfAny'>;

const problemsOf = ({ messages }: Mapping): string[] => [
  ...messages.flatMap(({ key, resource }, at) => [
    ...(key === undefined
      ? [
          `messages[${at}].key: is missing: give the columns that name a row for ever, as in "key": ["COURSE", "LOGIN"]`,
        ]
      : []),
    ...(resource === undefined
      ? []
      : [`messages[${at}].resource: is for change notices, and a table has none: leave it out`]),
  ]),
  ...(messages.length > maxMessages ? [`messages: are more than ${maxMessages}`] : []),
];
