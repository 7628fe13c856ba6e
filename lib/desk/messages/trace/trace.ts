import { conditionOn, scanned } from '../../../delivery/letters/read-records.ts';
import type { IndexRecord, State } from '../../../delivery/letters/record.ts';
import { isAbout, type SubjectFilter } from '../../../delivery/letters/subject.ts';
import { leftOutTexts } from '../../../stage/audit-log.ts';
import { UsageError, whyNot } from '../../../stage/command-errors.ts';
import type { Target } from '../../../stage/target.ts';
import { findLetter, letterIndexOf, NoLetterError } from '../letters/list.ts';
import { nextOf } from '../waiting/waiting.ts';
import { type Chain, eventsOfChain, findChains, tailOf } from './chains.ts';
import { type TraceEvent, traceEventTypes } from './event.ts';
import { loggedOf } from './function-log.ts';
import { commandsOn, type LedgerChangeEvent, ledgerChangesOf } from './ledger-changes-and-commands.ts';

/** `parked`: it is a letter. `replayed`, `edited`: nothing newer is known. */
export type TracedOutcome = Exclude<State, 'letter'> | 'parked' | 'unknown';

/** Every outcome is recorded, so that none is presumed. Scripts read it since 1.0.0, which presumed some. */
const presumed = false;

/** One message, under all ids that SQS gave it. */
export type TracedMessage = {
  message: string;
  ids: string[];
  outcome: TracedOutcome;
  presumed: typeof presumed;
} & Partial<Pick<IndexRecord, 'function' | 'eventId' | 'resource' | 'user' | 'orgUnit' | 'thing' | 'named'>>;

export type Trace = {
  id: string;
  /** The outcome of the message with the latest event. */
  outcome: TracedOutcome;
  presumed: typeof presumed;
  /** In order of time. */
  events: TraceEvent[];
  /** The message with the latest event comes last. */
  messages: TracedMessage[];
  /** What could not be read, or only in part, and why. */
  unread: { source: string; why: string }[];
};

type TraceOptions = {
  /** Also reads the functions' log. */
  log: boolean;
  functions: readonly string[];
  /** Where to begin in the logs if the time of the first receipt is unknown. */
  sinceMs?: number | undefined;
  signal: AbortSignal;
};

const dayMs = 24 * 3_600_000;
/** The functions' log is large, and AWS charges for what is read. */
const logDays = 1;
/** The record of an ended message is kept this long. */
const auditDays = 7;

/** All that is known of the messages that an id names: the id of a message, a letter or an event, or a resource as the ledger names it. */
export const traceOf = async (
  target: Target,
  id: string,
  { log, functions, sinceMs, signal }: TraceOptions,
): Promise<Trace> => {
  if (id.length < 4) throw new UsageError(`${id} is too short. Give at least its first 4 characters.`);
  const unread: Trace['unread'] = [];
  const attempt = async <Value>(source: string, read: () => Promise<Value>, none: Value): Promise<Value> => {
    try {
      return await read();
    } catch (error) {
      if (signal.aborted) throw error;
      unread.push({ source, why: whyNot(error) });
      return none;
    }
  };

  const chains = await attempt(
    'the letter index',
    async () => findChains(letterIndexOf(target), id, signal),
    [],
  );
  const records = chains.flatMap((chain) => chain.records);
  const chainEvents = chains.flatMap(eventsOfChain);
  const resources = distinct([...(id.includes('/') ? [id] : []), ...records.map(({ resource }) => resource)]);
  const claims = await attempt(
    'the ledger',
    () => ledgerChangesOf(target, resources.slice(0, maxResources)),
    [],
  );
  const own = claims.filter(
    (claim) => id === claim.resource || id === claim.eventId || id === claim.message || has(chains, claim),
  );
  join(chains, own);

  // The SIS' clock says nothing about where the logs begin.
  const begins = chainEvents.flatMap(({ at, what }) => (what === 'sent' ? [] : Date.parse(at)));
  const since = (days: number) =>
    sinceMs ?? (begins.length > 0 ? Math.min(...begins) - 60_000 : Date.now() - days * dayMs);
  const idsOf = () => {
    const known = distinct(chains.flatMap(({ ids }) => [...ids]));
    return known.some((each) => each.startsWith(id)) ? known : [id, ...known];
  };
  const logged = log
    ? await attempt(
        'the functions’ log',
        () => {
          const named = distinct(records.map((record) => record.function)).filter(Boolean);
          return loggedOf(target, {
            ids: distinct([...idsOf(), ...records.map(({ eventId }) => eventId)]).slice(0, maxIds),
            functions: named.length > 0 ? named : functions,
            sinceMs: since(logDays),
            signal,
          });
        },
        nothing,
      )
    : nothing;
  if (!logged.isWhole)
    unread.push({ source: 'the functions’ log', why: 'it is too long to be read completely' });
  join(chains, logged.events);
  const commands = await attempt(
    'the audit log',
    () => commandsOn(target, new Set(idsOf()), { sinceMs: since(auditDays), signal }),
    { ...nothing, forged: [], unread: [] },
  );
  if (!commands.isWhole)
    unread.push({ source: 'the audit log', why: 'it is too long to be read completely' });
  for (const why of leftOutTexts(commands)) unread.push({ source: 'a part of the audit log', why });

  const events = inOrder([
    ...chainEvents,
    ...own,
    ...overtaking(claims, own),
    ...logged.events,
    ...commands.events.filter((command) => !isInChain(command, chainEvents)),
  ]);
  const messages = chains
    .map((chain) => messageOf(chain, { events, claims: own, attempts: logged.events }))
    .sort((one, other) => one.lastAt.localeCompare(other.lastAt))
    .map(({ lastAt: _, ...message }) => message);
  const { outcome = 'unknown' } = messages.at(-1) ?? {};
  return { id, outcome, presumed, events, messages, unread };
};

/** Only the beginning of an id, which many share, names more. */
const maxResources = 100;
const maxIds = 200;

const nothing: { events: TraceEvent[]; isWhole: boolean } = { events: [], isWhole: true };

const distinct = (texts: readonly (string | undefined)[]): string[] => [
  ...new Set(texts.flatMap((text) => text ?? [])),
];

const has = (chains: readonly Chain[], { message = '' }: TraceEvent): boolean =>
  chains.some(({ ids }) => ids.has(message));

/** A message that was done at its first try has no record of its own, but other sources may mention it. */
const join = (chains: Chain[], events: readonly TraceEvent[]): void => {
  for (const event of events)
    if (event.message !== undefined && !has(chains, event))
      chains.push({ ids: new Set([event.message]), records: [] });
};

/** The claims of the resource after this message's own. */
const overtaking = (claims: readonly LedgerChangeEvent[], own: readonly LedgerChangeEvent[]): TraceEvent[] =>
  claims
    .filter((claim) => !own.includes(claim))
    .map(({ at, message, eventId, resource, fields }) => ({
      at,
      what: 'overtaken',
      message,
      eventId,
      resource,
      fields,
    }));

/** For a replay, an edit and a discard, the letter index has the same facts. */
const isInChain = ({ command, message }: TraceEvent, events: readonly TraceEvent[]): boolean =>
  events.some(
    ({ what, message: other }) =>
      other === message &&
      ((what === 'replayed' && command === 'letters replay') ||
        (what === 'edited' && command === 'letters edit') ||
        (what === 'discarded' && command === 'letters discard')),
  );

const inOrder = (events: readonly TraceEvent[]): TraceEvent[] => {
  const ordered = events.toSorted(
    (one, other) =>
      one.at.localeCompare(other.at) ||
      traceEventTypes.indexOf(one.what) - traceEventTypes.indexOf(other.what),
  );
  // The send is recorded after the message was sent: its function may have been quicker.
  for (const sending of ordered.filter(({ as }) => as !== undefined)) {
    const [from, first] = [
      ordered.indexOf(sending),
      ordered.findIndex(({ message }) => message === sending.as),
    ];
    if (first >= 0 && first < from) ordered.splice(first, 0, ...ordered.splice(from, 1));
  }
  return ordered;
};

type Evidence = { events: TraceEvent[]; claims: LedgerChangeEvent[]; attempts: TraceEvent[] };

const messageOf = (chain: Chain, evidence: Evidence): TracedMessage & { lastAt: string } => {
  const ids = [...chain.ids];
  const theirs = evidence.events.filter(
    ({ message = '', what }) => chain.ids.has(message) && what !== 'overtaken',
  );
  const tail = tailOf(chain);
  const last = tail?.as ?? tail?.message ?? ids.at(-1) ?? '';
  const identified = [tail, ...chain.records].find((record) => record?.eventId !== undefined) ?? tail;
  // An edit may have changed whom the message is about; its events show what it was before.
  const about = tail?.state === 'edited' ? undefined : identified;
  const known = theirs.toReversed();
  return {
    message: last,
    ids,
    ...endOf(tail, last, evidence),
    presumed,
    function: identified?.function ?? known.find((event) => event.function !== undefined)?.function ?? '',
    eventId: identified?.eventId ?? known.find(({ eventId }) => eventId !== undefined)?.eventId,
    resource: about?.resource ?? known.find(({ resource }) => resource !== undefined)?.resource,
    user: about?.user,
    orgUnit: about?.orgUnit,
    thing: about?.thing,
    named: about?.named,
    lastAt: theirs.at(-1)?.at ?? '',
  };
};

/** The outcome by the table. If the table has no end, by the log, and then by the ledger. */
const endOf = (
  tail: IndexRecord | undefined,
  last: string,
  { attempts, claims }: Evidence,
): Pick<TracedMessage, 'outcome'> => {
  const isOpen = tail === undefined || ['waiting', 'replayed', 'edited'].includes(tail.state);
  if (!isOpen) return { outcome: tail.state === 'letter' ? 'parked' : tail.state };
  const logged = attempts.filter(({ what, message }) => what === 'attempt' && message === last).at(-1);
  if (logged?.outcome !== undefined && Date.parse(logged.at) > (tail?.atMs ?? 0))
    return { outcome: logged.outcome as TracedOutcome };
  const claim = claims.filter(({ message }) => message === last);
  if (claim.some(({ outcome }) => outcome === 'done')) return { outcome: 'done' };
  if (tail === undefined) return { outcome: 'unknown' };
  const isStale = tail.state === 'waiting' && nextOf(tail, Date.now()) === 'unknown';
  return { outcome: isStale ? 'unknown' : (tail.state as TracedOutcome) };
};

/** A letter, or what is known of a message that is no letter any more. @throws NoLetterError if nothing is known. */
export const letterOrTrace = async (
  target: Target,
  id: string,
  { functions, signal }: { functions: readonly string[]; signal: AbortSignal },
): Promise<{ letter: Awaited<ReturnType<typeof findLetter>> } | { trace: Trace }> => {
  try {
    return { letter: await findLetter(target, id, signal) };
  } catch (error) {
    if (!(error instanceof NoLetterError)) throw error;
    const trace = await traceOf(target, id, { log: false, functions, signal });
    if (trace.events.length === 0) throw error;
    return { trace };
  }
};

/**
 * Messages about a user, a course, or that user in that course, including ended ones, newest first. Reads the whole letter index.
 * @throws if it cannot be read.
 */
export const messagesAbout = async (
  target: Target,
  about: SubjectFilter,
  { limit, signal }: { limit: number; signal: AbortSignal },
): Promise<{ messages: IndexRecord[]; isWhole: boolean }> => {
  const condition = conditionOn(about);
  if (condition === undefined)
    throw new UsageError('Messages about which user or org unit? Name a user, an org unit, or both.');
  const read = await scanned(letterIndexOf(target), condition, { signal });
  const found = read.filter((record) => isAbout(about, record));
  found.sort((one, other) => other.atMs - one.atMs || (one.message < other.message ? -1 : 1));
  return { messages: found.slice(0, limit), isWhole: found.length <= limit };
};
