import type { Target } from '../../deployment/target.ts';
import { type Filter, matches } from './filter.ts';
import { createGrouping, type Group } from './groups.ts';
import type { Letter } from './letter.ts';
import { openSession, type ReadOptions, type ReadSummary, type Session } from './session.ts';
import { createSpool, type Place, type Spool } from './spool.ts';

/** What of a selected letter stays in memory; the whole letter lies in the spool until it is needed. */
export type Selected = Pick<Letter, 'id' | 'function' | 'kind' | 'replays' | 'sentMs' | 'queueUrl'> & {
  group: Group;
  /** What only the whole letter could tell. */
  insight: Insight;
  place: Place;
};

export type Insight = {
  /** Why its function would still find its message invalid. */
  stillInvalid?: string | undefined;
  /** Whether a user's credential must sign, and not the service's; and whose. */
  signsAsUser?: boolean | undefined;
  actor?: string | undefined;
};

export type Selection = {
  session: Session;
  /** Of all letters that were read, also of those that do not match. */
  summary: Required<ReadSummary>;
  /** The oldest first. */
  letters: Selected[];
  groups: Group[];
  read(letter: Selected): Promise<Letter>;
};

type SelectOptions = ReadOptions & {
  filter: Filter;
  /** No more than so many: those that SQS hands out first. */
  limit?: number | undefined;
  /** Looks once into each whole letter. */
  inspect?: ((letter: Letter) => Promise<Insight>) | undefined;
};

/**
 * Works on the letters that match. The others stay leased, too: what appears in the queue later is then known to be new. At the
 * end all are given back; `backLater`: how many letters others see only when their lease ends.
 */
export const withSelection = async <Result extends object>(
  target: Target,
  options: SelectOptions,
  work: (selection: Selection) => Promise<Result>,
): Promise<Result & { backLater: number }> => {
  const session = await openSession(target);
  const spool = await createSpool<Letter>();
  let result: Result;
  let backLater = 0;
  try {
    result = await work(await select(session, spool, options));
  } finally {
    await spool.close();
    backLater = await session.close();
  }
  return { ...result, backLater };
};

const select = async (
  session: Session,
  spool: Spool<Letter>,
  { filter, limit = Number.POSITIVE_INFINITY, inspect, ...options }: SelectOptions,
): Promise<Selection> => {
  const grouping = createGrouping();
  const letters: Selected[] = [];
  for await (const letter of session.letters(options)) {
    if (!matches(filter, letter)) continue;
    const { id, function: name, kind, replays, sentMs, queueUrl } = letter;
    letters.push({
      ...{ id, function: name, kind, replays, sentMs, queueUrl },
      group: grouping.add(letter),
      insight: (await inspect?.(letter)) ?? {},
      place: await spool.put(letter),
    });
    if (letters.length >= limit) break;
  }
  return {
    session,
    summary: { ...session.summary(), limitReached: letters.length >= limit },
    letters: letters.sort((one, other) => one.sentMs - other.sentMs),
    groups: grouping.all(),
    read: ({ place }) => spool.get(place),
  };
};
