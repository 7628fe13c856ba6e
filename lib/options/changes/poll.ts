import type { Integration } from '../../delivery/handle/integration.ts';
import type { Addressed } from '../../delivery/handle/send-to-functions.ts';
import { type Mapping, readMapping } from '../../delivery/mapping/mapping.ts';
import { MessageFailure } from '../../message/failure.ts';
import { messageIdText, ownText, type SafeText, safe, safeList } from '../../message/safe-text.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import type { Observe } from '../../runtime/telemetry/observe.ts';
import { messagesOf, resourceOf } from './events.ts';
import { type Notice, noticesIn } from './page.ts';
import type { Place } from './position.ts';
import type { Source } from './source.ts';

export type PollSummary = {
  /** `off`: no source is set. `overtaken`: another run has moved the position meanwhile. */
  outcome: 'off' | 'done' | 'overtaken' | 'failed';
  pages: number;
  /** Notices by outcome. */
  sent: number;
  skipped: number;
  refused: number;
  /** The problem, and who must do what. */
  problem?: string;
};

export type PollParts = {
  source: Source;
  place: Place;
  /** The text of the mapping file; undefined if there is none. */
  readMappingFile(signal: AbortSignal): Promise<string | undefined>;
  /** Keeps a notice that makes no message. */
  keepRefused(id: string, text: string, signal: AbortSignal): Promise<void>;
  /** @throws if one of them was not accepted. */
  send(messages: readonly Addressed[], signal: AbortSignal): Promise<void>;
  integrations(): Promise<ReadonlyMap<string, Integration<unknown>>>;
  observe: Observe;
  /** The id to start after, if nothing was read yet. */
  from: string | undefined;
  limit: number;
  nowMs(): number;
};

export const mappingFile = 'change-poll/mapping.json';

/**
 * Reads pages of change notices, sends their messages, and only then stores the last id. If a run dies, its page is read again, and
 * the events have the same ids. A notice that makes no message is kept, and does not stop those after it.
 */
export const pollChanges = async (parts: PollParts, untilMs: number): Promise<PollSummary> => {
  const { observe, place, source, limit, nowMs } = parts;
  const summary: PollSummary = { outcome: 'done', pages: 0, sent: 0, skipped: 0, refused: 0 };
  const signal = AbortSignal.timeout(Math.max(1, untilMs - nowMs()));
  try {
    const integrations = await parts.integrations();
    const mapping = await mappingOf(parts, integrations, signal);
    let last = await place.read(signal);
    do {
      const after = last ?? parts.from;
      const notices = noticesIn(await source.page(after, signal), { after, limit });
      const end = notices.at(-1)?.id;
      if (end === undefined) break;
      await sendPage(notices, { ...parts, mapping, integrations, summary, signal });
      if (!(await place.move(last, end, signal))) {
        summary.outcome = 'overtaken';
        observe.info(safe`another run has read these changes in the meantime`);
        break;
      }
      last = end;
      summary.pages += 1;
      if (notices.length < limit) break;
      // The next page needs as much time as this one may have taken; the next run continues with the rest.
    } while (nowMs() < untilMs - reserveMs);
    observe.count('ChangePollsFailed', { function: 'change-poll' }, 0);
  } catch (error) {
    const { kind, message, remedy } = failureOf(error);
    observe.error(
      safe`no more changes can be read; the next run starts at the same id`,
      // What can fail here has remedies of our own words.
      { reason: safe`${message}. ${ownText(remedy)}`, kind },
      error,
    );
    observe.failed(kind);
    observe.count('ChangePollsFailed', { function: 'change-poll' }, 1);
    Object.assign(summary, { outcome: 'failed', problem: `${message}. ${remedy}` });
  }
  return summary;
};

/** A page is not begun with less time left. */
const reserveMs = 20_000;

const mappingOf = async (
  { readMappingFile }: PollParts,
  integrations: ReadonlyMap<string, Integration<unknown>>,
  signal: AbortSignal,
): Promise<Mapping> => {
  const text = await readMappingFile(signal);
  const read =
    text === undefined
      ? { problems: [safe`it does not exist, or the function may not read it`] }
      : readMapping(text, integrations);
  if ('mapping' in read) return read.mapping;
  throw new MessageFailure(
    'rejected',
    // What it repeats is the mapping's, which is a setting of the stage.
    safe`The mapping ${mappingFile} cannot be used: ${safeList(read.problems.slice(0, 5).map(ownText), '; ')}`,
    {
      remedy: `Put a valid mapping into the stage’s bucket as ${mappingFile}.`,
    },
  );
};

/** Of the resource, only a name that the mapping gives: any other may be about a person. */
const told = (notice: Notice, { messages }: Mapping): SafeText => {
  const name = resourceOf(notice);
  return messages.some(({ resource }) => resource === name) ? safe`${ownText(name)}: ` : safe``;
};

type Page = Omit<PollParts, 'integrations'> & {
  mapping: Mapping;
  integrations: ReadonlyMap<string, Integration<unknown>>;
  summary: PollSummary;
  signal: AbortSignal;
};

const sendPage = async (notices: Notice[], page: Page): Promise<void> => {
  const { observe, summary, signal } = page;
  const made: Addressed[] = [];
  const refused: [notice: Notice, problem: SafeText][] = [];
  const counts = { sent: 0, skipped: 0 };
  for (const notice of notices) {
    const outcome = messagesOf(notice, { ...page, nowMs: page.nowMs() });
    if ('problem' in outcome) {
      refused.push([notice, outcome.problem]);
      continue;
    }
    counts[outcome.messages.length === 0 ? 'skipped' : 'sent'] += 1;
    made.push(...outcome.messages);
  }
  await page.send(made, signal);
  for (const [notice, problem] of refused) {
    await page.keepRefused(notice.id, JSON.stringify({ problem, notice }), signal);
    observe.warn(safe`a change notice could not become a message; it is stored under change-poll/refused`, {
      eventId: messageIdText(notice.id),
      reason: safe`${told(notice, page.mapping)}${problem}`,
    });
  }
  for (const [outcome, count] of Object.entries({ ...counts, refused: refused.length }))
    if (count > 0) observe.count('ChangeNotices', { outcome }, count);
  summary.sent += counts.sent;
  summary.skipped += counts.skipped;
  summary.refused += refused.length;
};
