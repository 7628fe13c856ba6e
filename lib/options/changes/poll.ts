import type { Integration } from '../../delivery/handle/integration.ts';
import type { AddressedMessage } from '../../delivery/handle/send-to-functions.ts';
import { type Mapping, readMapping } from '../../delivery/mapping/mapping.ts';
import { MessageFailure } from '../../message/failure.ts';
import { messageIdText, ownText, type SafeText, safe, safeList } from '../../message/safe-text.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { inParallel } from '../../runtime/aws/parallel.ts';
import type { Observe } from '../../runtime/telemetry/observe.ts';
import { isDeletion, type KeptRemovals, messagesOf, resourceOf, subjectOf } from './events.ts';
import { type CompletedNotice, createLookUps } from './notice-details.ts';
import { type Notice, noticesIn } from './page.ts';
import type { PositionStore } from './position-store.ts';
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
  place: PositionStore;
  /** The text of the mapping file; undefined if there is none. */
  readMappingFile(signal: AbortSignal): Promise<string | undefined>;
  /** Keeps a notice that makes no message. */
  keepRefused(id: string, text: string, signal: AbortSignal): Promise<void>;
  /** By what notices are about: what is to be sent if that is deleted. */
  removals: {
    read(subject: string, signal: AbortSignal): Promise<KeptRemovals | undefined>;
    keep(subject: string, removals: KeptRemovals, signal: AbortSignal): Promise<void>;
  };
  /** @throws if one of them was not accepted. */
  send(messages: readonly AddressedMessage[], signal: AbortSignal): Promise<void>;
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
 * the events have the same ids. A single notice that makes no message is kept, and does not stop those after it. If a second one follows and
 * none is sent in between, the mapping does not fit the source: it stops, unless an operator passes it by its id.
 */
export const pollChanges = async (
  parts: PollParts,
  untilMs: number,
  { pass }: { pass?: string | undefined } = {},
): Promise<PollSummary> => {
  const { observe, place, source, limit, nowMs } = parts;
  const summary: PollSummary = { outcome: 'done', pages: 0, sent: 0, skipped: 0, refused: 0 };
  const signal = AbortSignal.timeout(Math.max(1, untilMs - nowMs()));
  try {
    const integrations = await parts.integrations();
    const mapping = await mappingOf(parts, integrations, signal);
    const lookUp = createLookUps(source, mapping);
    let { lastId: last, refused } = await place.read(signal);
    do {
      const after = last ?? parts.from;
      const notices = noticesIn(await source.page(after, signal), { after, limit });
      const end = notices.at(-1)?.id;
      if (end === undefined) break;
      const page = { ...parts, mapping, integrations, summary, signal, lookUp, end };
      const isPassed = notices.some(({ id }) => id === pass);
      refused = await sendPage(notices, page, isPassed ? Number.NEGATIVE_INFINITY : refused);
      if (!(await place.move(last, { lastId: end, refused }, signal))) {
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
const noticeText = (notice: Notice, { messages }: Mapping): SafeText => {
  const name = resourceOf(notice);
  return messages.some(({ resource }) => resource === name) ? safe`${ownText(name)}: ` : safe``;
};

type Page = Omit<PollParts, 'integrations'> & {
  mapping: Mapping;
  integrations: ReadonlyMap<string, Integration<unknown>>;
  summary: PollSummary;
  signal: AbortSignal;
  lookUp(notice: Notice, signal: AbortSignal): Promise<CompletedNotice>;
  /** The last id. */
  end: string;
};

/** Questions that the source is asked at the same time. */
const maxLookUps = 8;

/** So many notices in a row are refused before it stops. */
const maxRefused = 2;

/** Sends the messages of a page. Returns how many notices in a row were refused last, `refusedBefore` among them. */
const sendPage = async (notices: Notice[], page: Page, refusedBefore: number): Promise<number> => {
  const { observe, summary, signal } = page;
  const lookedUp = new Map<Notice, CompletedNotice>();
  await inParallel(
    notices,
    async (notice) => {
      lookedUp.set(notice, await page.lookUp(notice, signal));
    },
    maxLookUps,
  );
  const made: AddressedMessage[] = [];
  const refused: [notice: Notice, problem: SafeText][] = [];
  const counts = { sent: 0, skipped: 0 };
  const kept = new Map<string, KeptRemovals>();
  for (const notice of notices) {
    const outcome = await outcomeOf(notice, lookedUp.get(notice), { page, kept });
    if ('problem' in outcome) {
      refused.push([notice, outcome.problem]);
      continue;
    }
    counts[outcome.messages.length === 0 ? 'skipped' : 'sent'] += 1;
    made.push(...outcome.messages);
  }
  await page.send(made, signal);
  for (const [subject, removals] of kept) await page.removals.keep(subject, removals, signal);
  for (const [notice, problem] of refused) {
    await page.keepRefused(notice.id, JSON.stringify({ problem, notice }), signal);
    observe.warn(safe`a change notice could not become a message; it is stored under change-poll/refused`, {
      eventId: messageIdText(notice.id),
      reason: safe`${noticeText(notice, page.mapping)}${problem}`,
    });
  }
  for (const [outcome, count] of Object.entries({ ...counts, refused: refused.length }))
    if (count > 0) observe.count('ChangeNotices', { outcome }, count);
  summary.sent += counts.sent;
  summary.skipped += counts.skipped;
  summary.refused += refused.length;
  const inARow = counts.sent > 0 ? 0 : refusedBefore + refused.length;
  if (refused.length > 0 && inARow >= maxRefused) throw allRefused(refused.length, page);
  return Math.max(inARow, 0);
};

const allRefused = (count: number, { end }: Page): MessageFailure =>
  new MessageFailure(
    'rejected',
    safe`The mapping ${mappingFile} makes no message of ${count} notices in a row: change-poll stops at the page that ends with ${messageIdText(end)}`,
    {
      remedy: `Look under change-poll/refused/ for what is wrong, and correct the mapping or the source: the next run reads the page again. To go on without these notices, invoke change-poll with {"pass": "${end}"}.`,
    },
  );

type PageRemovals = { page: Page; kept: Map<string, KeptRemovals> };

const outcomeOf = async (
  notice: Notice,
  lookedUp: CompletedNotice | undefined,
  { page, kept }: PageRemovals,
) => {
  if (lookedUp?.notice === undefined) return { problem: lookedUp?.problem ?? safe`was not looked up` };
  const subject = subjectOf(notice);
  const known =
    subject !== undefined && isDeletion(notice, page.mapping)
      ? (kept.get(subject) ?? (await page.removals.read(subject, page.signal)))
      : undefined;
  const outcome = messagesOf(lookedUp.notice, { ...page, nowMs: page.nowMs(), kept: known });
  if ('keep' in outcome && outcome.keep && subject !== undefined) kept.set(subject, outcome.keep);
  return outcome;
};
