import { readAs } from '../../redaction/escapes.ts';
import type { Operation } from './operation.ts';

/** An answer that is not the success which its operation declares, parsed from whichever of the platform's forms it came in. */
export type RefusedCall = {
  /** Of HTTP; of an error that came as a success, the one that the error tells, if it tells any. */
  status: number;
  /** The status of HTTP, where the error tells another. */
  sentAs?: number;
  form?: Form;
  /** What the answer says that it is, such as `text/html`. */
  contentType?: string | undefined;
  /** The anchor of the problem's type, such as `not-authorized`. */
  type?: string | undefined;
  title?: string | undefined;
  detail?: string | undefined;
  /** Which of the two a 403 says is missing, where its text tells. */
  missing?: 'scope' | 'permission' | undefined;
  /** The name of the missing scope or permission, where the text tells. */
  required?: string | undefined;
  /** The answer was cut off: what its text would have told may be missing. */
  cutOff?: true;
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
};

/**
 * `error`: one of the API's own forms in JSON. `fault`: an error in JSON of another form. `shape`: a success that is none, told
 * by names and types. `page`: tags, be they HTML or XML.
 */
type Form = 'error' | 'fault' | 'json' | 'shape' | 'text' | 'page' | 'redirect' | 'nothing';

/** A call of the platform that did not succeed. Built from the request as it was before it was proved: nothing to redact. */
export class PlatformError extends Error {
  override name = 'PlatformError';
  readonly operation: Operation<unknown>;
  /** `METHOD /path`, without query. */
  readonly call: string;
  /** The platform's answer; undefined where no usable one came. */
  readonly refused: RefusedCall | undefined;
  /** False only if the platform cannot have acted: never connected, or the body was not handed over to its end. */
  readonly sent: boolean;
  /** It was answered with a success, and its effect was not seen. */
  readonly acceptedUnverified: boolean;
  /** It was answered with what is neither the success that its operation declares nor any known error. */
  readonly unexpected: boolean;

  constructor(facts: {
    operation: Operation<unknown>;
    call: string;
    message: string;
    refused?: RefusedCall;
    sent: boolean;
    acceptedUnverified?: boolean;
    unexpected?: boolean;
    cause?: unknown;
  }) {
    super(facts.message, { cause: facts.cause });
    this.operation = facts.operation;
    this.call = facts.call;
    this.refused = facts.refused;
    this.sent = facts.sent;
    this.acceptedUnverified = facts.acceptedUnverified ?? false;
    this.unexpected = facts.unexpected ?? false;
  }

  /**
   * Of what may be sent again, only a success that is none and an error of the server, or of a proxy before it, can come after
   * the effect; else only what the API itself refuses is sure to come before it.
   */
  get mayHaveActed(): boolean {
    if (this.refused === undefined) return this.sent;
    const { status, sentAs = status } = this.refused;
    if (sentAs < 300) return true;
    if (this.operation.repeatable) return status >= 500 || status === 408;
    return !(isApiOwn(this.refused) && refusalsBeforeEffect.has(status));
  }
}

/** Without 402, 407, 408 and 409, and without 503, which a proxy gives as well when it is tired of waiting. */
const refusalsBeforeEffect = new Set([
  ...[400, 401, 403, 404, 405, 406, 410, 411, 413, 414, 415, 422, 428, 429, 431],
]);

/**
 * Whether the API itself has given this answer: pages and redirects are given by what stands before it, such as a login, and
 * so is many a 403 in words of its own.
 */
export const isApiOwn = (refused: RefusedCall): boolean => {
  if (refusesCredential(refused) || isTimestampOutOfRange(refused)) return true;
  if (isForeign(refused)) return false;
  return refused.status !== 403 || Boolean(refused.form === 'error' || refused.missing || refused.cutOff);
};

/** Certainly given by what stands before the API. */
export const isForeign = ({ form, status }: RefusedCall): boolean =>
  form === 'page' || form === 'redirect' || status === 407;

/** The words by which a 404 tells what is not there; none where it speaks of the path alone, or not at all. */
export const absentIn = (refused: RefusedCall): string =>
  refused.form === 'page'
    ? ''
    : wordsOf(refused)
        .replace(/\/\S*/g, ' ')
        .replace(wordsAboutPaths, ' ')
        .replace(/[^\p{L}]+/gu, ' ')
        .trim();

const wordsAboutPaths =
  /\b(?:unreadable|json|http|errors?|an?|the|th(?:at|is|ose)|no|such|not|found|was|is|be|does|could|cannot|exists?|on|for|with|of|here|pages?|resources?|paths?|routes?|ur[il]s?|apis?|endpoints?|methods?|get|put|post|delete|versions?|supported|server|values|request(?:ed)?|match(?:e[sd])?)\b/gi;

export const isTimestampOutOfRange = (refused: RefusedCall): boolean =>
  speaksOfProof(refused) && /timestamp\s+out\s+of\s+range/i.test(wordsOf(refused));

/** The platform refuses the keys themselves: told as 401, or as a 403 that says so (any other 403 is about rights). */
export const isInvalidToken = (refused: RefusedCall): boolean =>
  refusesCredential(refused) || (refused.status === 401 && isApiOwn(refused));

const refusesCredential = (refused: RefusedCall): boolean =>
  speaksOfProof(refused) &&
  refused.missing === undefined &&
  (refused.type === 'invalid-token' || invalidToken.test(wordsOf(refused)));

const invalidToken =
  /\b(invalid|expired)(\s{1,4}|[_-])?token\b|\btoken\s{1,4}((is|has)\s{1,4})?(invalid|expired)\b/i;

/** The statuses of a refused proof; or a success that says nothing but that, and no text that holds such words. */
const speaksOfProof = (refused: RefusedCall): boolean =>
  refused.status === 401 ||
  refused.status === 403 ||
  (refused.status < 300 && /^(error|fault|text)$/.test(refused.form ?? '') && wordsOf(refused).length < 100);

/** Half of what a platform says may stand in the title. */
const wordsOf = ({ title = '', detail = '' }: RefusedCall): string => readAs(`${title}\n${detail}`);
