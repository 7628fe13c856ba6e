import type { Message } from '@aws-sdk/client-sqs';
import type { Target } from '../../deployment/target.ts';
import { type Filter, matches } from './filter.ts';
import { createGrouping, type Group } from './groups.ts';
import type { Letter, LetterKind } from './letter.ts';
import { type Desk, openDesk, type Visit, type VisitOptions, visitWith } from './session.ts';
import { createSpool, type Place } from './spool.ts';

/** A letter that was selected: what is needed to decide on it; the whole of it is read when its turn comes. */
export type Selected = {
  id: string;
  function: string;
  kind: LetterKind;
  replays: number;
  sentMs: number;
  group: Group;
  queueUrl: string | undefined;
  /** What only a look into the whole letter could tell. */
  insight: Insight;
  place: Place;
};

export type Insight = {
  /** Why its message would be refused again, before anything is sent. */
  stillInvalid?: string | undefined;
  /** Whether a user's credential must sign, and not the service's; and whose. */
  signsAsUser?: boolean | undefined;
  actor?: string | undefined;
};

export type Selection = Visit & {
  desk: Desk;
  /** The oldest first. */
  letters: Selected[];
  groups: Group[];
  read(letter: Selected): Promise<Letter>;
  /** Gives back what is still held; answers how many letters come back only when their lease is over. */
  close(): Promise<number>;
};

type SelectOptions = VisitOptions & {
  filter: Filter;
  /** No more than so many: whichever SQS hands out first. */
  limit?: number | undefined;
  /** Looks into a whole letter once. */
  inspect?: ((letter: Letter) => Promise<Insight>) | undefined;
};

/** Takes the letters that match in hand, and holds the others too, so that what comes back later can be told from them. */
export const selectLetters = async (target: Target, options: SelectOptions): Promise<Selection> => {
  const { filter, limit = Number.POSITIVE_INFINITY, inspect } = options;
  const desk = await openDesk(target);
  const spool = await createSpool<Message>();
  const grouping = createGrouping();
  const letters: Selected[] = [];
  let wanted = limit;
  const close = async () => {
    await spool.close();
    return desk.close();
  };
  try {
    const visited = await visitWith(desk, target, {
      ...options,
      look: async (letter) => {
        if (wanted === 0 || !matches(filter, letter)) return wanted > 0;
        wanted -= 1;
        const { id, function: name, kind, replays, sentMs, queueUrl } = letter;
        const group = grouping.add(letter);
        const place = await spool.put(messageOf(letter));
        letters.push({
          ...{ id, function: name, kind, replays, sentMs, queueUrl, group, place },
          insight: (await inspect?.(letter)) ?? {},
        });
        return wanted > 0;
      },
    });
    return {
      ...visited,
      limitReached: wanted === 0,
      desk,
      letters: letters.sort((one, other) => one.sentMs - other.sentMs),
      groups: grouping.all(),
      read: async ({ place }) => desk.readLetter(await spool.get(place)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};

/** The letter as SQS handed it out. */
const messageOf = ({ id, body, raw, source, sentMs, moved }: Letter): Message => ({
  MessageId: id,
  Body: body,
  MessageAttributes: raw,
  Attributes: {
    SentTimestamp: String(sentMs),
    ...(moved ? { DeadLetterQueueSourceArn: source } : {}),
  },
});
