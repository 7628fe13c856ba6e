/** One call of AWS: what IAM calls its action, and what it is about. Names alone: no account, no key of an object. */
type AwsCall = { action: string; resource: string };

type Arguments = { input: object };
type Handler = (given: Arguments) => Promise<{ response: unknown; output: { $metadata: object } }>;
type Context = { clientName?: string; commandName?: string };
type Middleware = (next: Handler, context: Context) => Handler;
type Client = {
  middlewareStack: { add(middleware: Middleware, options: { step: 'initialize'; name: string }): void };
};

/** Beside the errors, not on them: whatever prints an error prints no more than before. */
const calls = new WeakMap<object, AwsCall>();

/** A client whose errors know which call of AWS they come from: the SDK's own tell the service at most. */
export const traced = <Traced extends Client>(client: Traced): Traced => {
  const middleware: Middleware = (next, context) => (given) =>
    tracedCall(context, given.input, () => next(given));
  client.middlewareStack.add(middleware, { step: 'initialize', name: 'traced' });
  return client;
};

/** A call of AWS whose errors know it. */
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
  // IAM has one action for a message and a batch of them, and for an object however it is written or looked at.
  const action = service === 's3' ? actionOfS3(command) : command.replace(/Batch$/, '');
  return { action: `${service}:${action}`, resource: resourceIn(input) };
};

const actionOfS3 = (command: string): string => {
  if (command.startsWith('List')) return 'ListBucket';
  if (command === 'HeadObject') return 'GetObject';
  return /^(Create|Complete)Multipart|^UploadPart/.test(command) ? 'PutObject' : command;
};

const resourceIn = (input: object): string => {
  const given = input as Record<string, unknown>;
  const of = (field: string): string => nameIn(String(given[field]));
  if (given.TableName !== undefined) return `the table ${of('TableName')}`;
  if (given.QueueUrl !== undefined) return `the queue ${of('QueueUrl').split('/').at(-1)}`;
  if (given.QueueName !== undefined) return `the queue ${of('QueueName')}`;
  if (given.SecretId !== undefined) return `the secret ${of('SecretId')}`;
  if (given.FunctionName !== undefined) return `the function ${of('FunctionName')}`;
  if (given.Bucket !== undefined) return `the bucket ${of('Bucket')}`;
  return 'everything';
};

/** Whatever may be named may be named by its ARN, too, which holds the account's number. */
const nameIn = (text: string): string =>
  text.startsWith('arn:')
    ? text
        .split(':')
        .slice(5)
        .join(':')
        .replace(/^(table|secret|accesspoint|function)[:/]/, '')
    : text;

/** AWS answers, and its clock is so far from ours that nothing may be decided by ours. */
export class ClockDiffersError extends Error {
  override name = 'ClockDiffersError';
  readonly $metadata = {};

  constructor(ms: number) {
    super(
      `The clock of this function differs from AWS’ clock by ${Math.round(ms / 1000)} s, so the function claims no messages`,
    );
  }
}

/** `aws-refused`: no waiting heals it. */
export type AwsTrouble = { kind: 'unavailable' | 'aws-refused'; message: string; remedy?: string };

/** What an error of AWS means for whoever waits; undefined: it is none. */
export const awsTroubleIn = (error: unknown): AwsTrouble | undefined => {
  if (!(error instanceof Error && isOfAws(error))) return undefined;
  if (error instanceof ClockDiffersError) return { kind: 'unavailable', message: error.message };
  const call = calls.get(error);
  const name = awsNameOf(error);
  if (heals(error))
    return {
      kind: 'unavailable',
      message: `AWS did not answer${call ? ` ${call.action} on ${call.resource}` : ''}: ${name}`,
    };
  const { action, resource } = call ?? { action: 'a call', resource: 'what it names' };
  const { who, remedy } = helpFor(name, { action, resource });
  return {
    kind: 'aws-refused',
    message: `AWS refuses ${action} on ${resource} (${name}): ${who}`,
    remedy: `${remedy} Waiting messages then continue by themselves.`,
  };
};

const isOfAws = (error: Error): boolean =>
  '$metadata' in error || '$retryable' in error || error.name === 'TimeoutError' || isNetworkCode(error);

const isNetworkCode = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && /^E[A-Z_]+$/.test(error.code) && 'syscall' in error;

/** A proxy may put any text where AWS writes the name. */
const awsNameOf = ({ name }: Error): string => (/^[\w.:-]{1,80}$/.test(name) ? name : 'Unknown');

/** What AWS refuses now and takes later: a rush, an interrupted change, a role's credentials that have just ended. */
const passing =
  /Throttl|TooManyRequests|SlowDown|LimitExceeded|ThroughputExceeded|OverLimit|PriorRequest|Transaction(InProgress|Conflict)|OperationAborted|ResourceInUse|Timeout|Expired|TokenRefreshRequired|TooSkewed|InTheFuture|Unavailable|Internal/i;

/** Without an answer, with one of a server in trouble, or with a refusal that passes. */
const heals = (error: Error): boolean => {
  const { $metadata, $retryable } = error as { $metadata?: { httpStatusCode?: number }; $retryable?: object };
  const status = $metadata?.httpStatusCode ?? 500;
  if (status < 300 || status >= 500 || status === 408 || status === 429) return true;
  if ($retryable || passing.test(error.name)) return true;
  // Of an answer that breaks off in its middle the status is known, and not what it said.
  if (error.name === 'Error' || isNetworkCode(error)) return true;
  // An answer without a body has no name for what is wrong, and S3 gives such a one to expired credentials, too.
  return status === 400 && awsNameOf(error) === 'Unknown';
};

/** Who must do what, by the kind of refusal that an error's name tells. */
const helpFor = (name: string, { action, resource }: AwsCall): { who: string; remedy: string } => {
  if (/kms|decrypt|encrypt/i.test(name))
    return {
      who: 'an administrator of the AWS account must make its key usable',
      remedy: `Have an administrator of the AWS account enable the KMS key of ${resource}, and let the function’s role use it.`,
    };
  if (/NotFound|NonExistent|DoesNotExist|NoSuch/i.test(name))
    return {
      who: 'the person who deploys sis-relay must create it, or correct its name',
      remedy: `${resource} does not exist in this account and region. Deploy sis-relay again, or correct the name in the function’s settings.`,
    };
  if (
    /AccessDenied|Unauthori[sz]ed|NotAuthori[sz]ed|Forbidden|UnrecognizedClient|InvalidClientTokenId|Signature/i.test(
      name,
    )
  )
    return {
      who: 'an administrator of the AWS account must allow it',
      remedy: `Have an administrator of the AWS account let the function’s role do ${action} on ${resource}. If the role has lost that right, deploy sis-relay again. If it has the right, look for a policy of the account, of ${resource} or of its key that denies it.`,
    };
  return {
    who: 'the maintainers of sis-relay must look into it',
    remedy: `AWS does not accept this request, and waiting will not help. Check ${resource} and the function’s settings. If both are right, report this with the log of this message.`,
  };
};

/** What kind of error it is, without what it says. */
export const errorName = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/** What a call answers; undefined where it fails with an error of such a name. */
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
