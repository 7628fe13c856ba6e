/** What is known to have happened to a message at one time. */
export type TraceEvent = {
  /** As in `2026-01-31T09:30:00.000Z`. */
  at: string;
  /**
   * From the desk's table: `received`, `waited` (it does no longer), `waits`, `letter`, what operators did to the letter, and how it ended.
   * From the ledger: `claimed` (its call was about to be sent), `overtaken` (another message has claimed the resource since).
   * From the audit log: `woken`, and `command` for any other. From the functions' log: `attempt`, and `logged` for any other line.
   */
  what:
    | 'received'
    | 'waited'
    | 'waits'
    | 'letter'
    | 'replayed'
    | 'edited'
    | 'discarded'
    | 'done'
    | 'duplicate'
    | 'superseded'
    | 'claimed'
    | 'overtaken'
    | 'woken'
    | 'command'
    | 'attempt'
    | 'logged';
  /** SQS' id, which names its letter, too. */
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
  /** How often SQS had handed it out by then. */
  attempts?: number | undefined;
  replays?: number | undefined;
  /** Of waits: how often, when it was told to wait last, and when it is tried next. */
  times?: number | undefined;
  until?: string | undefined;
  next?: string | undefined;
  /** Of an operator's deed: who, why, under which id the message went on, and where it is kept as it was before. */
  by?: string | undefined;
  why?: string | undefined;
  as?: string | undefined;
  original?: string | undefined;
  /** Of a claim: what of the resource, and what the ledger knows of its end. `presumed`: it tells no end, and takes it for done. */
  resource?: string | undefined;
  fields?: string[] | undefined;
  outcome?: string | undefined;
  presumed?: boolean | undefined;
  /** Of a command: as typed; `done`: whether it was done to this message; undefined: the command came to no end. */
  command?: string | undefined;
  done?: boolean | undefined;
  /** Of an attempt: its calls of the platform, how long it took, and for how long it was told to wait. */
  requests?: number | undefined;
  durationMs?: number | undefined;
  waitSeconds?: number | undefined;
};

/** Undefined where a record does not tell when. */
export const timeOf = (ms: number | undefined): string | undefined =>
  ms !== undefined && ms > 0 && Number.isFinite(ms) ? new Date(ms).toISOString() : undefined;
