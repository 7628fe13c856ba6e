import { dispositions, responsible } from './dispositions.ts';
import type { PlatformIds } from './sis-ids.ts';

export { dispositions, responsible };

export type FailureKind = keyof typeof dispositions;

/** Letters that only a person replays who has looked what the platform holds: sent blindly they would do harm. */
export const undecidedKinds = ['uncertain', 'outdated'] as const satisfies FailureKind[];

export const needsDecision = (kind: string | undefined): boolean =>
  undecidedKinds.some((each) => each === kind);

/** What waits, and yet no waiting heals it: somebody is called at once. */
export const needsPerson = (kind: FailureKind | undefined): boolean =>
  kind === 'credentials' || kind === 'aws-refused';

export type Outcome = 'done' | 'duplicate' | 'superseded' | 'waiting' | 'parked';

/** Why a message failed and what to do about it; it goes into the dead letter, so it names no secret and no query. */
export type Failure = {
  kind: FailureKind;
  /** What happened, in our own words and the known names of errors: safe for logs. */
  message: string;
  /** Who must do what. */
  remedy: string;
  status?: number;
  /** The anchor of the platform's problem type, such as `json-binding-error`. */
  type?: string;
  /** The platform's own words, as is the detail: for the letter, not for logs, as they may repeat the message's content. */
  title?: string;
  detail?: string;
  /** The scope or permission that was missing. */
  required?: string;
  /** `METHOD /path`, without query. */
  operation?: string;
  /** The platform's id of the request, if it gave one. */
  requestId?: string;
  retryAfterSeconds?: number;
  /** What the SIS' ids of the message stood for, by the fields of the platform's. */
  ids?: PlatformIds;
};

/** What the platform said when it refused a call: what a letter that follows an answer must hold. */
export type Refusal = Pick<
  Failure,
  'status' | 'type' | 'title' | 'detail' | 'required' | 'operation' | 'requestId' | 'retryAfterSeconds'
>;

/** A failure whose kind the thrower knows. */
export class MessageFailure extends Error {
  override name = 'MessageFailure';
  readonly kind: FailureKind;
  readonly remedy: string | undefined;
  /** What the letter tells, and no log: it may name a person. */
  readonly detail: string | undefined;
  /** The platform's words, where the failure follows from an answer of it. */
  readonly refusal: Refusal;

  constructor(
    kind: FailureKind,
    message: string,
    options: {
      remedy?: string | undefined;
      detail?: string;
      cause?: unknown;
      refusal?: Refusal | undefined;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.remedy = options.remedy;
    this.detail = options.detail;
    this.refusal = options.refusal ?? {};
  }
}
