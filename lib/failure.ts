import { isInvalidToken, isTimestampOutOfRange } from './platform/auth.ts';
import { PlatformError, type RefusedCall } from './platform/error.ts';

/** What happens to a message that fails: one row a kind, so that a new kind does not compile without its fate. */
export const dispositions = {
  invalid: 'park',
  rejected: 'park',
  'missing-scope': 'park',
  'missing-permission': 'park',
  'missing-credential': 'park',
  uncertain: 'park',
  crashed: 'park',
  defect: 'park',
  credentials: 'wait',
  throttled: 'wait',
  unavailable: 'wait',
} as const;

export type FailureKind = keyof typeof dispositions;

export type Outcome = 'done' | 'duplicate' | 'superseded' | 'waiting' | 'parked';

/** Why a message failed and what to do about it; it goes into the dead letter, so it names no secret and no query. */
export type Failure = {
  kind: FailureKind;
  /** What happened, in our own words: safe for logs. */
  message: string;
  /** Who must do what. */
  remedy: string;
  status?: number;
  /** The anchor of the platform's problem type, such as `json-binding-error`. */
  type?: string;
  title?: string;
  /** The platform's own words: for the letter, not for logs, as they may repeat the message's content. */
  detail?: string;
  /** The scope or permission that was missing. */
  required?: string;
  /** `METHOD /path`, without query. */
  operation?: string;
  /** The platform's id of the request, if it gave one. */
  requestId?: string;
  retryAfterSeconds?: number;
};

/** A failure whose kind the thrower knows. */
export class MessageFailure extends Error {
  override name = 'MessageFailure';
  readonly kind: FailureKind;
  readonly remedy: string | undefined;

  constructor(kind: FailureKind, message: string, options: { remedy?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.remedy = options.remedy;
  }
}

/** The one judge of errors: everything that can be thrown while a message is handled becomes a failure here. */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof MessageFailure)
    return { kind: error.kind, message: error.message, remedy: error.remedy ?? remedies[error.kind] };
  if (error instanceof PlatformError) return error.refused ? refusal(error, error.refused) : silence(error);
  if (isAwsOutage(error))
    return {
      kind: 'unavailable',
      message: `AWS did not answer: ${nameOf(error)}`,
      remedy: remedies.unavailable,
    };
  return { kind: 'defect', message: `Unexpected ${nameOf(error)}`, remedy: remedies.defect };
};

const refusal = (error: PlatformError, refused: RefusedCall): Failure => {
  const kind = kindOfRefusal(error, refused);
  const wanted = refused.required ? `: it requires ${refused.required}` : '';
  return {
    kind,
    message: `The platform answered ${error.call} with ${refused.status}${nameOfRefusal(refused)}${wanted}`,
    remedy: remedyFor(kind, refused),
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

/** Only a title that is an error's name: a text that is nothing but its first line may repeat the message's words. */
const nameOfRefusal = ({ title = '', type, detail }: RefusedCall): string =>
  (type ?? detail) !== undefined && /^[A-Za-z][A-Za-z -]{2,39}$/.test(title) ? ` ${title}` : '';

const kindOfRefusal = (error: PlatformError, refused: RefusedCall): FailureKind => {
  const { status } = refused;
  if (status === 429) return 'throttled';
  if (error.mayHaveActed) return error.operation.repeatable ? 'unavailable' : 'uncertain';
  if (status === 503) return 'unavailable';
  if (isTimestampOutOfRange(refused)) return 'unavailable';
  if (isInvalidToken(refused)) return 'credentials';
  // Half a text does not tell which of the many refusals this was: the next time brings the whole.
  if (status === 403 && refused.cutOff && refused.type === undefined && !refused.missing)
    return 'unavailable';
  if (status === 403) return refused.missing === 'scope' ? 'missing-scope' : 'missing-permission';
  return 'rejected';
};

/** No usable answer came: whether the call had its effect is known only if it was never sent. */
const silence = (error: PlatformError): Failure => {
  const kind = error.mayHaveActed && !error.operation.repeatable ? 'uncertain' : 'unavailable';
  return { kind, message: `${error.call}: ${error.message}`, remedy: remedies[kind], operation: error.call };
};

/** The AWS SDK retries by itself what it calls transient; what still fails is waited for, whoever is at fault. */
const isAwsOutage = (error: unknown): boolean =>
  error instanceof Error &&
  ('$metadata' in error || '$retryable' in error || error.name === 'TimeoutError' || isNetworkCode(error));

const isNetworkCode = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && /^E[A-Z_]+$/.test(error.code) && 'syscall' in error;

/** What kind of error it is, without what it says. */
export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

const remedyFor = (kind: FailureKind, refused: RefusedCall): string => {
  if (kind === 'missing-scope' && refused.required)
    return `Grant the scope ${refused.required} to the client registered for sis-relay, then replay.`;
  if (kind === 'missing-permission' && refused.required)
    return `Give the signing user's role the permission ${refused.required} on the platform, then replay.`;
  if (refused.status < 400)
    return 'Look at the address of the platform in the configuration and at its state: it answers with a redirect. Then replay.';
  return remedies[kind];
};

const remedies: Record<FailureKind, string> = {
  invalid: 'Correct the message at its producer and send it again, or edit and replay this letter.',
  rejected: 'Correct what the platform names, in the message or on the platform, then replay.',
  'missing-scope': 'Grant the named scope to the client registered for sis-relay, then replay.',
  'missing-permission':
    "Give the signing user's role the permission for this call on the platform, then replay.",
  'missing-credential': 'Create the named secret with the credential of that user, then replay.',
  uncertain: 'Look on the platform whether it was done; replay only if it was not, else discard.',
  crashed: 'Look for the cause in the function’s log (memory, time, the file named), mend it, then replay.',
  defect:
    'This is a bug of sis-relay: report it with the log of this message, deploy the correction, then replay.',
  credentials:
    'Rotate or restore the credential in Secrets Manager; of an OAuth client, see what token-refresh says, and invoke it with {"force":true}. Waiting messages then go on by themselves.',
  throttled: 'Nothing, unless it lasts: the platform asked to wait. Lower the concurrency if it comes often.',
  unavailable:
    'Nothing, unless it lasts: the message goes on by itself when the platform or AWS answers again.',
};

const defined = <T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never;
