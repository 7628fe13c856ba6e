import type { FailureKind } from './failure-kinds.ts';
import { type SafeText, safe, safeList } from './safe-text.ts';
import type { PlatformIds } from './sis-ids.ts';

export type Outcome = 'done' | 'duplicate' | 'superseded' | 'waiting' | 'parked';

/** Why a message failed and what to do about it. It goes into the dead letter, so it names no secret and no query. */
export type Failure = {
  kind: FailureKind;
  message: SafeText;
  /** Who must do what. */
  remedy: string;
  status?: number;
  /** The anchor of the platform's problem type, such as `json-binding-error`. */
  type?: string;
  /** The platform's own words, as is the detail: for the letter, not for logs, as they may repeat the message's content. */
  title?: string;
  detail?: string;
  /** The missing scope or permission. */
  required?: string;
  /** `METHOD /path`, without query. */
  operation?: SafeText;
  /** The platform's id of the request, if it gave one. */
  requestId?: string;
  retryAfterSeconds?: number;
  /** What the message's ids of the SIS stood for, by the platform's fields. */
  ids?: PlatformIds;
};

/** The platform's refusal of a call: a letter that follows from an answer must hold it. */
export type Refusal = Pick<
  Failure,
  'status' | 'type' | 'title' | 'detail' | 'required' | 'operation' | 'requestId' | 'retryAfterSeconds'
>;

/** A failure whose kind the thrower knows. */
export class MessageFailure extends Error {
  override name = 'MessageFailure';
  declare readonly message: SafeText;
  readonly kind: FailureKind;
  readonly remedy: string | undefined;
  /** For the letter and never for logs: it may name a person. */
  readonly detail: string | undefined;
  /** The platform's words, if the failure follows from its answer. */
  readonly refusal: Refusal;

  constructor(
    kind: FailureKind,
    message: SafeText,
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

/** What is wrong with a message: with the named field, as in `data.files[0].uri`, or with the whole message if no field is named. */
export type MessageProblem = { field?: SafeText; problem: SafeText };

/** The same for the person who has the message at hand: it may repeat what is in it. */
export type ShownProblem = { field?: string; problem: string };

/** As in `data.userId: is missing; time: must be a time`. */
export const problemsText = (problems: readonly ShownProblem[]): string =>
  problems.map(({ field, problem }) => (field === undefined ? problem : `${field}: ${problem}`)).join('; ');

/** It names each field that is wrong, and never its value. */
export class InvalidMessage extends MessageFailure {
  override name = 'InvalidMessage';
  readonly problems: readonly MessageProblem[];

  constructor(problems: readonly MessageProblem[]) {
    const texts = problems.map(({ field, problem }) =>
      field === undefined ? problem : safe`${field}: ${problem}`,
    );
    super('invalid', safe`The message is not valid: ${safeList(texts, '; ')}`);
    this.problems = problems;
  }
}
