import { type Mapping, type MessageRule, readMapping } from '../../../delivery/mapping/mapping.ts';
import { fileNameOf } from '../feed.ts';
import type { SnapshotServices } from '../snapshot-services.ts';
import { UnusableSnapshot } from '../unusable.ts';
import { settingsKey } from './settings-file.ts';

/** Each message has a key, by which a later snapshot finds its row again. */
export type SnapshotMapping = Omit<Mapping, 'messages'> & {
  messages: readonly (MessageRule & Required<Pick<MessageRule, 'key'>>)[];
};

/** The keys of a table's mapping: that of its feed, of its name in any folder, and of all tables. The first counts. Producers may write tables, but not to this folder. */
export const mappingOfAll = 'snapshot-mapping.json';

export const mappingKeysOf = (feed: string): [own: string, ...ofMore: string[]] => {
  const named = [...new Set([feed, fileNameOf(feed)])];
  const [own = '', ...others] = named.map((name) => `snapshot-mappings/${name.replace(/\.csv$/i, '')}.json`);
  return [own, ...others, mappingOfAll];
};

/** A message is identified by one character, in the state and in the ids of its events. */
const maxMessages = 36;

export const mappingFor = async (
  feed: string,
  { store, integrations, functions }: MappingContext,
): Promise<SnapshotMapping> => {
  const keys = mappingKeysOf(feed);
  let [place, text]: [string | undefined, string | undefined] = [undefined, undefined];
  for (const key of keys) if (text === undefined) [place, text] = [key, await store.textIfAny(key)];
  const inLowerCase = feed.toLowerCase();
  if (text === undefined && (await store.textIfAny(mappingKeysOf(inLowerCase)[0])) !== undefined)
    throw new UnusableSnapshot(
      `There is no mapping for ${feed}, but one for ${inLowerCase}: put the file by that name`,
    );
  if (text === undefined)
    throw new UnusableSnapshot(
      `There is no mapping for the columns of ${feed}. Put one at ${keys[0]}, or at ${keys.at(-1)} for all tables`,
    );
  const read = readMapping(text, integrations);
  const problems = 'problems' in read ? read.problems : problemsOf(read.mapping, functions);
  if ('mapping' in read && problems.length === 0) return read.mapping as SnapshotMapping;
  throw new UnusableSnapshot(`${place} cannot be used for a snapshot: ${problems.join('; ')}`);
};

type Store = Pick<SnapshotServices['store'], 'textIfAny'>;
type MappingContext = Pick<SnapshotServices, 'integrations'> & {
  store: Store;
  /** The functions that the settings allow. */
  functions: readonly string[];
};

const problemsOf = ({ messages }: Mapping, functions: readonly string[]): string[] => [
  ...messages.flatMap(({ function: name, removed }, at) =>
    [
      [`messages[${at}].function`, name] as const,
      ...(removed ? [[`messages[${at}].removed.function`, removed.function] as const] : []),
    ].flatMap(([place, each]) =>
      functions.includes(each)
        ? []
        : [`${place}: snapshots may not use ${each}. To allow it, add it to "functions" in ${settingsKey}`],
    ),
  ),
  ...messages.flatMap(({ key, resource }, at) => [
    ...(key === undefined
      ? [
          `messages[${at}].key: is missing. Give the columns whose values never change for a row, as in "key": ["COURSE", "LOGIN"]`,
        ]
      : []),
    ...(resource === undefined
      ? []
      : [`messages[${at}].resource: is only for change notices. Leave it out for a table`]),
  ]),
  ...(messages.length > maxMessages ? [`messages: must be at most ${maxMessages}`] : []),
];
