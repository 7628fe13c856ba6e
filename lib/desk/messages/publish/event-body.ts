import { eventIn } from '../../../message/envelope.ts';
import { isObject } from '../../../message/json.ts';
import { messageType } from '../../../message/message.ts';

/** How messages are dated and named. */
export type EventTimeOptions = {
  /** Of the file and the mapping. */
  digest: string;
  time: string;
  /** The time also replaces that of a message which has one. */
  now: boolean;
  isRepeatable(functionName: string): boolean;
};

export type Body = {
  body: string;
  /** It is another message each time that its file is published: it replaces what was sent before. */
  isNew: boolean;
};

/** Distinguishes the messages of this time. */
const timeInId = (time: string): string => time.replace(/[-:.]/g, '');

/**
 * The event of a row. A message that is dated here replaces what came before, so it is a new one each time that its file is published.
 * One with a time of its own says the same each time, and one that creates something must not do so twice: they keep their ids, and are
 * done once. Of two rows about one resource the later one applies.
 */
export const eventBody = (
  given: { data: unknown; time?: unknown; id?: unknown },
  { line, name, part }: { line: number; name: string; part?: number },
  { digest, time, now, isRepeatable }: EventTimeOptions,
): Body => {
  const isNew = (now || (given.time === undefined && given.id === undefined)) && isRepeatable(name);
  const own = given.id ?? [digest, line, ...(part === undefined ? [] : [part])].join('-');
  const event = {
    specversion: '1.0',
    source: '/sis-relay/publish',
    type: messageType(name),
    time,
    sequence: String(line),
    ...given,
    id: isNew ? `${own}-${timeInId(time)}` : own,
    ...(now && { time, sequence: String(line) }),
  };
  return { body: JSON.stringify(event), isNew };
};

/** A whole event, as it is written. */
export const saidBody = (text: string, line: number, { time, now, isRepeatable }: EventTimeOptions): Body => {
  const event = now ? eventIn(text) : undefined;
  if (!isObject(event)) return { body: text, isNew: false };
  const { id, type } = event as { id?: unknown; type?: unknown };
  const isNew = typeof id === 'string' && isRepeatable(functionOf(type));
  const said = { ...event, ...(isNew && { id: `${id}-${timeInId(time)}` }), time, sequence: String(line) };
  return { body: JSON.stringify(said), isNew };
};

/** The function of a message's type; empty if it is none. */
export const functionOf = (type: unknown): string =>
  /^sis\.(.+)\.v1$/.exec(typeof type === 'string' ? type : '')?.[1] ?? '';
