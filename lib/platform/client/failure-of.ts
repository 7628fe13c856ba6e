import { type Failure, InvalidMessage, MessageFailure, type MessageProblem } from '../../message/failure.ts';
import { type FailureKind, failureKinds } from '../../message/failure-kinds.ts';
import { networkRemedyIn } from '../../message/network-errors.ts';
import { type SafeText, safe, safeList } from '../../message/safe-text.ts';
import { awsTroubleIn, errorName } from '../../runtime/aws/error.ts';
import { errorNameIn } from './json-error.ts';
import {
  isApiOwn,
  isForeign,
  isInvalidToken,
  isTimestampOutOfRange,
  notFoundWords,
  PlatformError,
  type RefusedCall,
  wantedIn,
} from './platform-error.ts';

/** The one judge of errors: everything that can be thrown while a message is handled becomes a failure here. */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof MessageFailure)
    return {
      ...error.refusal,
      ...(error.detail !== undefined && { detail: error.detail }),
      kind: error.kind,
      message: error.message,
      remedy: error.remedy ?? failureKinds[error.kind].remedy,
    };
  if (error instanceof PlatformError) return error.refused ? refusal(error, error.refused) : silence(error);
  const trouble = awsTroubleIn(error);
  if (trouble) return { remedy: failureKinds[trouble.kind].remedy, ...trouble };
  return {
    kind: 'defect',
    message: safe`Unexpected ${errorName(error)}`,
    remedy: failureKinds.defect.remedy,
  };
};

/** The problems of a message that its function would not take, field by field. */
export const problemsIn = (error: unknown): readonly MessageProblem[] =>
  error instanceof InvalidMessage ? error.problems : [{ problem: failureOf(error).message }];

const refusal = (error: PlatformError, refused: RefusedCall): Failure => {
  const kind = kindOfRefusal(error, refused);
  const credential = kind === 'credentials' ? error.credential : undefined;
  return {
    kind,
    message: credential?.message ?? messageOf(error, refused),
    remedy: credential?.remedy ?? remedyFor(kind, error, refused),
    operation: error.call,
    status: refused.status,
    ...defined({
      type: refused.type,
      title: refused.title,
      detail: refused.detail,
      required: refused.required,
      requestId: refused.requestId,
      retryAfterSeconds: refused.retryAfterSeconds,
    }),
  };
};

/** The text is logged: it holds only known names of the platform's answer, and no text that may repeat the message. */
const messageOf = (error: PlatformError, refused: RefusedCall): SafeText => {
  const { status, sentAs, type, title } = refused;
  const name = errorNameIn(title) ?? errorNameIn(type);
  if (!isApiOwn(refused)) {
    const words = [safe`${sentAs ?? status}`, refused.contentType, name].filter((word) => word !== undefined);
    const whole = safeList(words, ' ');
    return isForeign(refused)
      ? safe`Something in front of the platform’s API answered ${error.call}: ${whole}`
      : safe`The answer to ${error.call} is in no form that the API uses: ${whole}`;
  }
  if (error.unexpected) return safe`The platform answered ${error.call} with ${status}, and ${error.message}`;
  const answerText = safe`${status}${name === undefined ? '' : safe` ${name}`}${requirementText(refused)}`;
  return sentAs === undefined
    ? safe`The platform answered ${error.call} with ${answerText}`
    : safe`The platform answered ${error.call} with ${sentAs}, and its content says ${answerText}`;
};

const requirementText = (refused: RefusedCall): SafeText => {
  const wanted = wantedIn(refused);
  return wanted === undefined ? safe`` : safe`: it requires ${wanted}`;
};

const kindOfRefusal = (error: PlatformError, refused: RefusedCall): FailureKind => {
  const { status } = refused;
  // Before all others: a 429 or 503 of something between may hide that the platform acted.
  if (error.mayHaveActed && !error.operation.repeatable) return 'uncertain';
  if (status === 429) return 'throttled';
  if (status >= 500 || status === 408) return 'unavailable';
  if (isTimestampOutOfRange(refused)) return 'unavailable';
  if (isInvalidToken(refused)) return 'credentials';
  if (error.unexpected) return 'unexpected-answer';
  // Half a text does not identify which of the many refusals this was: the next attempt may bring the whole.
  const isUntold = status === 403 && refused.type === undefined && !refused.missing;
  const isHalfAbsent = status === 404 && error.operation.method === 'GET';
  if (refused.cutOff && (isUntold || isHalfAbsent)) return 'unavailable';
  if (!isApiOwn(refused)) return 'intercepted';
  if (refused.missing === 'scope') return 'missing-scope';
  if (refused.missing || status === 403) return 'missing-permission';
  return 'rejected';
};

/** No usable answer came: whether the call had its effect is known only if it was never sent. */
const silence = (error: PlatformError): Failure => {
  const { turnInSeconds } = error;
  const isInDoubt = error.mayHaveActed && !error.operation.repeatable;
  const kind = isInDoubt
    ? 'uncertain'
    : error.unexpected
      ? 'unexpected-answer'
      : turnInSeconds === undefined
        ? 'unavailable'
        : 'throttled';
  return {
    kind,
    message: safe`${error.call}: ${error.message}`,
    remedy:
      (kind === 'unavailable' ? networkRemedyIn(`: ${error.message}`) : undefined) ??
      failureKinds[kind].remedy,
    operation: error.call,
    ...defined({ retryAfterSeconds: turnInSeconds }),
  };
};

const remedyFor = (kind: FailureKind, error: PlatformError, refused: RefusedCall): string => {
  const { name, scope } = error.operation;
  const { type } = refused;
  const required = wantedIn(refused);
  switch (kind) {
    case 'missing-scope':
      return `Grant the scope ${required ?? scope ?? 'that this call needs'} to the client registered for sis-relay, then replay.`;
    case 'missing-permission':
      if (required)
        return `Give the signing user's role the permission ${required} on the platform, then replay.`;
      return type === 'not-authorized'
        ? `Either the client registered for sis-relay lacks the scope ${scope}, or the signing user's role lacks the permission for this call. Grant what is missing on the platform, then replay.`
        : failureKinds[kind].remedy;
    case 'unexpected-answer':
      return `${failureKinds[kind].remedy} PLATFORM_OPERATIONS sets the version of this call under “${name}”.`;
    case 'intercepted': {
      if (isWrongPath(refused)) return `${failureKinds[kind].remedy} ${pathRemedy(error)}`;
      return isForeign(refused)
        ? failureKinds[kind].remedy
        : `${failureKinds[kind].remedy} ${permissionRemedy(error)}`;
    }
    case 'rejected':
      return isWrongPath(refused) ? pathRemedy(error) : failureKinds[kind].remedy;
    default:
      return failureKinds[kind].remedy;
  }
};

const permissionRemedy = ({ operation: { scope } }: PlatformError): string =>
  `If the platform itself answered, either the signing user's role lacks the permission for this call, or the client registered for sis-relay lacks the scope${scope ? ` ${scope}` : ''}.`;

/** The message is not the cause: the platform has no such path. */
const isWrongPath = (refused: RefusedCall): boolean => {
  const { status } = refused;
  const isRedirect = Math.floor(status / 100) === 3;
  return isRedirect || status === 405 || (status === 404 && notFoundWords(refused) === '');
};

const pathRemedy = ({ call, operation: { name } }: PlatformError): string => {
  const path = call.slice(call.indexOf('/'));
  const slash = path.endsWith('/') ? 'no slash at its end' : 'a slash at its end';
  return `Check the path ${path} on the platform: it may have another name, ${slash}, or another version there. Correct it in PLATFORM_OPERATIONS under “${name}”, then replay.`;
};

const defined = <T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never;
