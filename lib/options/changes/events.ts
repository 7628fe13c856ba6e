import type { Integration } from '../../delivery/handle/integration.ts';
import type { Addressed } from '../../delivery/handle/send-to-functions.ts';
import { eventsOf, type Made, problemsText } from '../../delivery/mapping/events.ts';
import type { Mapping } from '../../delivery/mapping/mapping.ts';
import { draftOf, messageType } from '../../message/message.ts';
import { ownText, type SafeText, safe } from '../../message/safe-text.ts';
import { maxMessageBytes, sqsProblem } from '../../message/sqs-limits.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { type Notice, sequenceOf } from './page.ts';

/**
 * The result of a notice: messages, each for the queue of its function (none if the mapping does not name the notice); or why it
 * makes none.
 */
type Outcome = { messages: Addressed[] } | { problem: SafeText };

type Known = { mapping: Mapping; integrations: ReadonlyMap<string, Integration<unknown>>; nowMs: number };

/** Deterministic: the same notice makes the same events, so what is sent twice is a duplicate. */
export const messagesOf = (notice: Notice, { mapping, integrations, nowMs }: Known): Outcome => {
  const made = eventsOf(notice, mapping);
  if (made.problems) return { problem: problemsText(made.problems) };
  const messages: Addressed[] = [];
  for (const each of made.events) {
    const integration = integrations.get(each.function);
    if (integration === undefined) return { problem: safe`there is no function ${ownText(each.function)}` };
    const isFirst = !messages.some((message) => message.function === each.function);
    const body = JSON.stringify(eventFrom(notice, each, isFirst ? notice.id : `${notice.id}/${each.at}`));
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
  return { messages };
};

const eventFrom = (notice: Notice, { function: name, data, time }: Made, id: string): object => ({
  specversion: '1.0',
  id,
  source: `/sis-relay/changes/${encodeURIComponent(resourceOf(notice).toWellFormed())}`,
  type: messageType(name),
  time: time ?? notice.published,
  ...{ sequence: sequenceOf(notice.id) },
  data,
});

/** The resource's name in a notice. */
export const resourceOf = ({ resource }: Notice): string => {
  const { name = resource } = Object(resource) as { name?: unknown };
  return typeof name === 'string' ? name : '';
};
