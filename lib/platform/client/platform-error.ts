import { type SafeText, safeMatch } from '../../message/safe-text.ts';
import { decoded } from '../../runtime/privacy/escapes.ts';
import type { Operation } from './operation.ts';

/** An answer that is not the declared success of its operation, parsed from any of the platform's forms. */
export type RefusedCall = {
  /** The HTTP status; for an error with a success status, the status in the error's body, if there is one. */
  status: number;
  /** The HTTP status, if the error's body has another. */
  sentAs?: number;
  form?: Form;
  /** Its content type, such as `text/html`. */
  contentType?: SafeText | undefined;
  /** The anchor of the problem's type, such as `not-authorized`. */
  type?: string | undefined;
  title?: string | undefined;
  detail?: string | undefined;
  /** What is missing, if the text of a 403 names it. */
  missing?: 'scope' | 'permission' | undefined;
  /** The name of the missing scope or permission, if the text has it. */
  required?: string | undefined;
  /** The answer was cut off: a part of its text is missing. */
  cutOff?: true;
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
};

/**
 * `error`: one of the API's own forms in JSON. `fault`: an error in JSON of another form. `shape`: a success that is not the
 * expected one, described by names and types. `page`: HTML or XML.
 */
type Form = 'error' | 'fault' | 'json' | 'shape' | 'text' | 'page' | 'redirect' | 'nothing';

/** Which credential the platform refuses, and what to do about it. */
export type RefusedCredential = { message: SafeText; remedy: string };

export type CallFacts = {
  operation: Operation<unknown>;
  /** `METHOD /path`, without query. */
  call: SafeText;
};

/** A call of the platform that did not succeed. It knows the request without its authentication: there is nothing to redact. */
export class PlatformError extends Error {
  override name = 'PlatformError';
  declare readonly message: SafeText;
  readonly operation: CallFacts['operation'];
  readonly call: CallFacts['call'];
  /** The platform's answer; undefined if no usable answer came. */
  readonly refused: RefusedCall | undefined;
  /** False only if the platform cannot have acted: it was never connected, or the body was not sent to its end. */
  readonly sent: boolean;
  /** The answer was a success, but its effect was not seen. */
  readonly acceptedUnverified: boolean;
  /** The answer is neither the success that the operation declares nor a known error. */
  readonly unexpected: boolean;
  /** The call was not sent: the rate limiter did not admit it in time, and may admit it after this many seconds. */
  readonly turnInSeconds: number | undefined;
  /** The platform refused the credential itself; undefined also if it comes from no secret. */
  credential: RefusedCredential | undefined;

  constructor(
    facts: CallFacts &
      Pick<PlatformError, 'message' | 'sent'> &
      Partial<
        Pick<PlatformError, 'refused' | 'acceptedUnverified' | 'unexpected' | 'turnInSeconds' | 'cause'>
      >,
  ) {
    super(facts.message, { cause: facts.cause });
    this.operation = facts.operation;
    this.call = facts.call;
    this.refused = facts.refused;
    this.sent = facts.sent;
    this.acceptedUnverified = facts.acceptedUnverified ?? false;
    this.unexpected = facts.unexpected ?? false;
    this.turnInSeconds = facts.turnInSeconds;
  }

  /**
   * Whether the call may have taken effect. For a repeatable call, only an unexpected success and an error of the server, or of a
   * proxy before it, can come after the effect. For any other call, only a refusal by the API itself certainly comes before it.
   */
  get mayHaveActed(): boolean {
    if (this.refused === undefined) return this.sent;
    const { status, sentAs = status } = this.refused;
    if (sentAs < 300) return true;
    if (this.operation.repeatable) return status >= 500 || status === 408;
    return !(isApiOwn(this.refused) && refusalsBeforeEffect.has(status));
  }
}

/** Without 402, 407, 408 and 409, and without 503, which a proxy also sends when it stops waiting. */
const refusalsBeforeEffect = new Set([
  400, 401, 403, 404, 405, 406, 410, 411, 413, 414, 415, 422, 428, 429, 431,
]);

/** Whether the API itself sent this answer, and not a system before it: a login page, a redirect, a 403 in other words. */
export const isApiOwn = (refused: RefusedCall): boolean => {
  if (refusesCredential(refused) || isTimestampOutOfRange(refused)) return true;
  if (isForeign(refused)) return false;
  return refused.status !== 403 || Boolean(refused.form === 'error' || refused.missing || refused.cutOff);
};

/** Certainly sent by a system before the API. */
export const isForeign = ({ form, status }: RefusedCall): boolean =>
  form === 'page' || form === 'redirect' || status === 407;

/** The words in which a 404 names what does not exist; empty if it names only the path, or nothing. */
export const notFoundWords = (refused: RefusedCall): string =>
  refused.form === 'page'
    ? ''
    : refusalText(refused)
        .replace(/\/\S*/g, ' ')
        .replace(wordsAboutPaths, ' ')
        .replace(/[^\p{L}]+/gu, ' ')
        .trim();

const wordsAboutPaths =
  /\b(?:unreadable|json|http|errors?|an?|the|th(?:at|is|ose)|no|such|not|found|was|is|be|does|could|cannot|exists?|on|for|with|of|here|pages?|resources?|paths?|routes?|ur[il]s?|apis?|endpoints?|methods?|get|put|post|delete|versions?|supported|server|values|request(?:ed)?|match(?:e[sd])?)\b/gi;

export const isTimestampOutOfRange = (refused: RefusedCall): boolean =>
  isAboutAuthentication(refused) && /timestamp\s+out\s+of\s+range/i.test(refusalText(refused));

/** The platform refuses the keys themselves: by 401, or by a 403 that says so (any other 403 is about permissions). */
export const isInvalidToken = (refused: RefusedCall): boolean =>
  refusesCredential(refused) || (refused.status === 401 && isApiOwn(refused));

const refusesCredential = (refused: RefusedCall): boolean =>
  isAboutAuthentication(refused) &&
  refused.missing === undefined &&
  (refused.type === 'invalid-token' || invalidToken.test(refusalText(refused)));

const invalidToken =
  /\b(invalid|expired)(\s{1,4}|[_-])?token\b|\btoken\s{1,4}((is|has)\s{1,4})?(invalid|expired)\b/i;

/** The answer has a status of refused authentication, or it is a success whose short text only refuses the key. */
const isAboutAuthentication = (refused: RefusedCall): boolean =>
  refused.status === 401 ||
  refused.status === 403 ||
  (refused.status < 300 &&
    /^(error|fault|text)$/.test(refused.form ?? '') &&
    refusalText(refused).length < 100);

/** All that a refusal says, without escapes: platforms put parts of it into the title. */
export const refusalText = ({ title = '', detail = '' }: RefusedCall): string =>
  decoded(`${title}\n${detail}`);

/**
 * What the call requires, as far as it may be shown. Any word may follow “required”, also a name that the message gave: only a scope's
 * form, and a permission's own label, are shown.
 */
export const wantedIn = ({ missing, required }: RefusedCall): SafeText | undefined =>
  safeMatch(required, missing === 'scope' ? scopes : permission);

/** As in `grades:gradevalues:write`, one or more. */
const scopes =
  /^(?:[a-z_-]{1,30}|\*)(?::(?:[a-z_-]{1,30}|\*)){2}(?:[ ,]+(?:[a-z_-]{1,30}|\*)(?::(?:[a-z_-]{1,30}|\*)){2}){0,9}$/;
const permission = /^[A-Za-z][\w.-]{0,59}$/;
