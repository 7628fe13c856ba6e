import * as z from 'zod';
import type { Integration } from '../../delivery/handle/integration.ts';
import type { AddressedMessage } from '../../delivery/handle/send-to-functions.ts';
import {
  eventsOf,
  mappingProblemsText,
  type ProducedMessage,
  removalsOf,
  valueAt,
} from '../../delivery/mapping/events.ts';
import type { Mapping } from '../../delivery/mapping/mapping.ts';
import { timeIn } from '../../delivery/mapping/times.ts';
import { draftOf, messageType } from '../../message/message.ts';
import { ownText, type SafeText, safe } from '../../message/safe-text.ts';
import { maxMessageBytes, sqsProblem } from '../../message/sqs-limits.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { type Notice, sequenceOf } from './page.ts';

/** What is to be sent once the thing that a notice was about is deleted: a notice of that may have no content. */
export const keptRemovals = z.array(
  z.object({ function: z.string(), at: z.number(), data: z.record(z.string(), z.unknown()) }),
);
export type KeptRemovals = z.output<typeof keptRemovals>;

/**
 * The result of a notice: messages, each for the queue of its function (none if the mapping does not name the notice), and what to keep for
 * its deletion; or why it makes none.
 */
type NoticeResult = { messages: AddressedMessage[]; keep?: KeptRemovals } | { problem: SafeText };

type Context = {
  mapping: Mapping;
  integrations: ReadonlyMap<string, Integration<unknown>>;
  nowMs: number;
  /** Of an earlier notice about the same. */
  kept?: KeptRemovals | undefined;
};

/** Deterministic: the same notice makes the same events, so what is sent twice is a duplicate. */
export const messagesOf = (notice: Notice, context: Context): NoticeResult => {
  const { mapping, integrations, nowMs } = context;
  const made = eventsOf(notice, mapping);
  if (made.problems) return { problem: mappingProblemsText(made.problems) };
  const removals = deletionsIn(notice, context);
  if (!Array.isArray(removals)) return removals;
  const published = publishedIn(notice, mapping);
  if (typeof published !== 'string') return published;
  const messages: AddressedMessage[] = [];
  for (const each of [...made.events, ...removals]) {
    const integration = integrations.get(each.function);
    if (integration === undefined) return { problem: safe`there is no function ${ownText(each.function)}` };
    const isFirst = !messages.some((message) => message.function === each.function);
    const id = isFirst ? notice.id : `${notice.id}/${each.at}`;
    const body = JSON.stringify(eventFrom(notice, { ...each, time: each.time ?? published }, id));
    const message = { body, attributes: {} };
    try {
      draftOf(body, integration, nowMs);
    } catch (error) {
      return { problem: failureOf(error).message };
    }
    const problem = sqsProblem(message, maxMessageBytes);
    if (problem !== undefined) return { problem: safe`its message ${problem}` };
    messages.push({ function: each.function, message });
  }
  const keep = made.events.length === 0 ? [] : (removalsOf(notice, mapping).events ?? []);
  return { messages, ...(keep.length > 0 && { keep: keptRemovals.parse(keep) }) };
};

type Deletion = Pick<ProducedMessage, 'function' | 'at' | 'data' | 'time'>;

/** Whether a notice says that what it is about is deleted, by the mapping. */
export const isDeletion = (notice: Notice, { messages }: Pick<Mapping, 'messages'>): boolean =>
  messages.some((message) => isDeleting(message, notice));

const isDeleting = ({ resource, removed }: Mapping['messages'][number], notice: Notice): boolean =>
  removed !== undefined &&
  resource === resourceOf(notice) &&
  (removed.operations ?? ['deleted']).some((each) => each === valueAt(notice, 'operation'));

/** By what was kept or, without that, by the content of the notice. */
const deletionsIn = (notice: Notice, { mapping, kept }: Context): Deletion[] | { problem: SafeText } => {
  const places = mapping.messages.flatMap((message, at) => (isDeleting(message, notice) ? [at] : []));
  if (places.length === 0) return [];
  if (kept !== undefined) return kept.filter(({ at }) => places.includes(at));
  const { events, problems } = removalsOf(notice, mapping);
  if (problems) return { problem: mappingProblemsText(problems) };
  const own = events.filter(({ at, data, columns }) => places.includes(at) && hasAll(data, columns));
  return own.length > 0
    ? own
    : {
        problem: safe`says that it is deleted, without content, and no earlier notice of it made a message`,
      };
};

/** Whether the content gives each field that the mapping takes from it. */
const hasAll = (data: object, columns: ReadonlyMap<string, string>): boolean =>
  [...columns.keys()].every((path) => path === 'time' || valueAt({ data }, path) !== undefined);

const publishedIn = ({ published }: Notice, { cells }: Mapping): string | { problem: SafeText } => {
  const said = typeof published === 'string' ? published : JSON.stringify(published ?? '');
  const { time, problem, isUnclear } = timeIn(said, cells);
  // The event's schema reports what is no time at all.
  return isUnclear ? { problem: safe`published: ${problem}` } : (time ?? said);
};

const eventFrom = (notice: Notice, { function: name, data, time }: Deletion, id: string): object => ({
  specversion: '1.0',
  id,
  source: `/sis-relay/changes/${encodeURIComponent(resourceOf(notice).toWellFormed())}`,
  type: messageType(name),
  time,
  sequence: sequenceOf(notice.id),
  data,
});

/** The resource's name in a notice. */
export const resourceOf = ({ resource }: Notice): string => {
  const { name = resource } = Object(resource) as { name?: unknown };
  return typeof name === 'string' ? name : '';
};

/** What a notice is about, as a name for a file; undefined: it gives no id. */
export const subjectOf = (notice: Notice): string | undefined => {
  const id = valueAt(notice, 'resource.id') ?? valueAt(notice, 'content.id');
  return typeof id === 'string' || typeof id === 'number' ? `${resourceOf(notice)}\n${id}` : undefined;
};
