import { errorWord, ownText, type SafeText, safe } from '../../message/safe-text.ts';

/** IAM's name of the action, and its resource. Only names: no account, no key of an object. */
type AwsCall = { action: SafeText; resource: SafeText };

type Arguments = { input: object };
type Handler = (given: Arguments) => Promise<{ response: unknown; output: { $metadata: object } }>;
type Context = { clientName?: string; commandName?: string };
type Middleware = (next: Handler, context: Context) => Handler;
type Client = {
  middlewareStack: { add(middleware: Middleware, options: { step: 'initialize'; name: string }): void };
};

/** Beside the errors, not on them: code that prints an error prints no more than before. */
const calls = new WeakMap<object, AwsCall>();

/** Makes a client's errors know their AWS call: the SDK's own name the service at most. */
export const traced = <Traced extends Client>(client: Traced): Traced => {
  const middleware: Middleware = (next, context) => (given) =>
    tracedCall(context, given.input, () => next(given));
  client.middlewareStack.add(middleware, { step: 'initialize', name: 'traced' });
  return client;
};

export const tracedCall = async <Answer>(
  context: Context,
  input: object,
  call: () => Promise<Answer>,
): Promise<Answer> => {
  try {
    return await call();
  } catch (error) {
    if (error instanceof Error) calls.set(error, callOf(context, input));
    throw error;
  }
};

const callOf = ({ clientName = '', commandName = '' }: Context, input: object): AwsCall => {
  const service = clientName.replace(/Client$/, '').toLowerCase();
  const command = commandName.replace(/Command$/, '');
  // IAM has one action for a message and a batch of them, and one for an object however it is written or read.
  const action = service === 's3' ? actionOfS3(command) : command.replace(/Batch$/, '');
  return { action: ownText(`${service}:${action}`), resource: awsResourceIn(input) };
};

const actionOfS3 = (command: string): string => {
  if (command.startsWith('List')) return 'ListBucket';
  if (command === 'HeadObject') return 'GetObject';
  return /^(Create|Complete)Multipart|^UploadPart/.test(command) ? 'PutObject' : command;
};

const awsResourceIn = (input: object): SafeText => {
  const given = input as Record<string, unknown>;
  const of = (field: string): SafeText => nameIn(String(given[field]));
  if (given.TableName !== undefined) return safe`the table ${of('TableName')}`;
  if (given.QueueUrl !== undefined) return safe`the queue ${ownText(of('QueueUrl').split('/').at(-1) ?? '')}`;
  if (given.QueueName !== undefined) return safe`the queue ${of('QueueName')}`;
  if (given.SecretId !== undefined) return safe`the secret ${of('SecretId')}`;
  if (given.FunctionName !== undefined) return safe`the function ${of('FunctionName')}`;
  if (given.Bucket !== undefined) return safe`the bucket ${of('Bucket')}`;
  return safe`everything`;
};

/** Anything may also be named by its ARN, which holds the account's number. */
const nameIn = (text: string): SafeText =>
  ownText(
    text.startsWith('arn:')
      ? text
          .split(':')
          .slice(5)
          .join(':')
          .replace(/^(table|secret|accesspoint|function)[:/]/, '')
      : text,
  );

/** AWS answers, but its clock differs so much from ours that ours must decide nothing. */
export class ClockDiffersError extends Error {
  override name = 'ClockDiffersError';
  declare readonly message: SafeText;
  readonly $metadata = {};

  constructor(ms: number) {
    super(
      safe`The clock of this function differs from AWS’ clock by ${Math.round(ms / 1000)} s, so the function handles no messages`,
    );
  }
}

/** The call that failed with this error; undefined: unknown. */
export const awsCallOf = (error: unknown): AwsCall | undefined =>
  error instanceof Error ? calls.get(error) : undefined;

/** `aws-refused`: waiting does not heal it. */
export type AwsTrouble = { kind: 'unavailable' | 'aws-refused'; message: SafeText; remedy?: string };

/** The consequence of an AWS error for a waiting message; undefined if it is not one of AWS. */
export const awsTroubleIn = (error: unknown): AwsTrouble | undefined => {
  if (!(error instanceof Error && isOfAws(error))) return undefined;
  if (error instanceof ClockDiffersError) return { kind: 'unavailable', message: error.message };
  const call = calls.get(error);
  const name = awsNameOf(error);
  if (heals(error))
    return {
      kind: 'unavailable',
      message: safe`AWS did not answer${call ? safe` ${call.action} on ${call.resource}` : ''}: ${name}`,
    };
  const { action, resource } = call ?? { action: safe`a call`, resource: safe`what it names` };
  const { who, remedy } = helpFor(name, { action, resource });
  return {
    kind: 'aws-refused',
    message: safe`AWS refuses ${action} on ${resource} (${name}): ${who}`,
    remedy: `${remedy} Waiting messages then continue by themselves.`,
  };
};

const isOfAws = (error: Error): boolean =>
  '$metadata' in error ||
  '$retryable' in error ||
  error.name === 'TimeoutError' ||
  // Anything else can be aborted, too.
  (error.name === 'AbortError' && calls.has(error)) ||
  isNetworkCode(error);

const isNetworkCode = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && /^E[A-Z_]+$/.test(error.code) && 'syscall' in error;

const awsNameOf = ({ name }: Error): SafeText => errorWord(name) ?? safe`Unknown`;

/** Refusals that pass: a rush, an interrupted change, a role's credentials that have just expired. */
const passing =
  /Throttl|TooManyRequests|SlowDown|LimitExceeded|ThroughputExceeded|OverLimit|PriorRequest|Transaction(InProgress|Conflict)|OperationAborted|ResourceInUse|Timeout|Expired|TokenRefreshRequired|TooSkewed|InTheFuture|Unavailable|Internal/i;

/** No answer, an answer of a failing server, or a refusal that passes. */
const heals = (error: Error): boolean => {
  const { $metadata, $retryable } = error as { $metadata?: { httpStatusCode?: number }; $retryable?: object };
  const status = $metadata?.httpStatusCode ?? 500;
  if (status < 300 || status >= 500 || status === 408 || status === 429) return true;
  if ($retryable || passing.test(error.name)) return true;
  // If an answer breaks off, its status is known, but not its content.
  if (error.name === 'Error' || isNetworkCode(error)) return true;
  // An answer without a body names no fault, and S3 also sends one for expired credentials.
  return status === 400 && awsNameOf(error) === 'Unknown';
};

/** Who must do what, by the refusal in an error's name. */
const helpFor = (name: string, { action, resource }: AwsCall): { who: SafeText; remedy: string } => {
  if (/kms|decrypt|encrypt/i.test(name))
    return {
      who: safe`an administrator of the AWS account must make its key usable`,
      remedy: `Have an administrator of the AWS account enable the KMS key of ${resource}, and let the function’s role use it.`,
    };
  if (/NotFound|NonExistent|DoesNotExist|NoSuch/i.test(name))
    return {
      who: safe`the person who deploys sis-relay must create it, or correct its name`,
      remedy: `${resource} does not exist in this account and region. Deploy sis-relay again, or correct the name in the function’s settings.`,
    };
  if (
    /AccessDenied|Unauthori[sz]ed|NotAuthori[sz]ed|Forbidden|UnrecognizedClient|InvalidClientTokenId|Signature/i.test(
      name,
    )
  )
    return {
      who: safe`an administrator of the AWS account must allow it`,
      remedy: `Have an administrator of the AWS account let the function’s role do ${action} on ${resource}. If the role has lost that right, deploy sis-relay again. If it has the right, look for a policy of the account, of ${resource} or of its key that denies it.`,
    };
  return {
    who: safe`the maintainers of sis-relay must look into it`,
    remedy: `AWS does not accept this request, and waiting will not help. Check ${resource} and the function’s settings. If both are right, report this with the log of this message.`,
  };
};

export const errorName = (error: unknown): SafeText =>
  error instanceof Error ? (errorWord(error.name) ?? safe`Error`) : safe`${typeof error}`;

/** The answer of a call; undefined if it fails with an error of such a name. */
export const unlessError = async <Answer>(
  names: RegExp,
  call: () => Promise<Answer>,
): Promise<Answer | undefined> => {
  try {
    return await call();
  } catch (error) {
    if (names.test(errorName(error))) return undefined;
    throw error;
  }
};

/**
 * S3 gives the object to nobody with this role: whoever put it chose a storage class or a key of KMS that the role cannot use.
 * Another attempt does not help.
 */
export const isWithheld = (error: unknown): boolean =>
  /^(AccessDenied|InvalidObjectState|InvalidRequest|KMS\..*)$/.test(errorName(error));
