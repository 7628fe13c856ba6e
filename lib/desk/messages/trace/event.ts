/**
 * What happens to a message, in the order of events in the same millisecond.
 * From the letter index: `sent` (by the SIS, and its clock), `received`, `waited` (it no longer does), `waits`, `letter`, what operators did to the letter, and how it ended.
 * From the ledger: `claimed` (its call was about to be sent), `overtaken` (another message has claimed the resource since).
 * From the audit log: `woken`, and `command` for any other. From the functions' log: `attempt`, and `logged` for any other line.
 */
export const traceEventTypes = [
  ...([
    'sent',
    'received',
    'claimed',
    'waited',
    'waits',
    'attempt',
    'logged',
    'letter',
    'command',
    'woken',
  ] as const),
  ...(['edited', 'replayed', 'discarded', 'done', 'duplicate', 'superseded', 'overtaken'] as const),
] as const;

/** Something that happened to a message at a known time. */
export type TraceEvent = {
  /** As in `2026-01-31T09:30:00.000Z`. */
  at: string;
  what: (typeof traceEventTypes)[number];
  /** SQS' id, which is also the id of its letter. */
  message?: string | undefined;
  function?: string | undefined;
  eventId?: string | undefined;
  kind?: string | undefined;
  error?: string | undefined;
  /** The platform's words, masked. */
  words?: string | undefined;
  remedy?: string | undefined;
  status?: number | undefined;
  /** `METHOD /path` of its last call then. */
  operation?: string | undefined;
  /** How many times SQS had delivered it by then. */
  attempts?: number | undefined;
  replays?: number | undefined;
  /** Of waits: how many there were, when the last one began, and when the message is tried next. */
  times?: number | undefined;
  until?: string | undefined;
  next?: string | undefined;
  /** Of an operator's action: who, why, the id under which the message continued, and the address of the original. */
  by?: string | undefined;
  why?: string | undefined;
  as?: string | undefined;
  original?: string | undefined;
  /** Of a claim: the part of the resource, and the outcome in the ledger. */
  resource?: string | undefined;
  fields?: string[] | undefined;
  outcome?: string | undefined;
  /** Of a command: as typed. `done`: whether it was done to this message; undefined: the command did not finish. */
  command?: string | undefined;
  done?: boolean | undefined;
  /** Of an attempt: its calls of the platform, its duration, and how long it was told to wait. */
  requests?: number | undefined;
  durationMs?: number | undefined;
  waitSeconds?: number | undefined;
};

/** Undefined if a record has no time. */
export const timeOf = (ms: number | undefined): string | undefined =>
  ms !== undefined && ms > 0 && Number.isFinite(ms) ? new Date(ms).toISOString() : undefined;
