import { awsClient, type ClientOptions, timeouts } from '../runtime/aws/clients.ts';
import { logText } from '../runtime/privacy/log-text.ts';

/** The outputs or tags of a CloudFormation stack, by name. */
export type StackOutputs = Record<string, string | undefined>;

export type Stack = {
  outputs: StackOutputs;
  tags: StackOutputs;
  /** When a deployment last changed it. */
  changedMs?: number | undefined;
  /** Whether the last deployment has ended well. */
  isDeployed?: boolean;
  why?: string;
  isMissing?: boolean;
};

/** Reads a stack. `why`: the reason if it cannot be read; `isMissing`: because there is none. */
export type ReadStack = (name: string, options: ClientOptions) => Promise<Stack>;

/** Only the command uses it, so that no function's bundle holds the client. */
export const readStack: ReadStack = async (name, options) => {
  const { CloudFormationClient, DescribeStacksCommand } = await import('@aws-sdk/client-cloudformation');
  const client = awsClient(CloudFormationClient, {
    ...options,
    ...timeouts({ connectionMs: 3_000, requestMs: 5_000 }),
    maxAttempts: 2,
  });
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: name }));
    const outputs = Object.fromEntries(
      (stack?.Outputs ?? []).map(({ OutputKey = '', OutputValue }) => [OutputKey, OutputValue]),
    );
    const tags = Object.fromEntries((stack?.Tags ?? []).map(({ Key = '', Value }) => [Key, Value]));
    return {
      outputs,
      tags,
      changedMs: (stack?.LastUpdatedTime ?? stack?.CreationTime)?.getTime(),
      isDeployed: deployedStates.test(stack?.StackStatus ?? ''),
    };
  } catch (error) {
    if (!(error instanceof Error) || isOfAllCalls(error)) throw error;
    const isMissing = error.name === 'ValidationError' && /does not exist/.test(error.message);
    const why = isMissing
      ? `there is no stack ${name} in this account and region (check the stage, the region and the profile)`
      : `the stack ${name} cannot be read (${logText('code' in error ? `${error.code}` : error.name)})`;
    return { outputs: {}, tags: {}, why, isMissing };
  } finally {
    client.destroy();
  }
};

/** Others are on their way, or went back. */
const deployedStates = /^(CREATE|UPDATE)_COMPLETE(_CLEANUP_IN_PROGRESS)?$/;

/** The identity is unknown, or there is no such region: every other call of AWS would fail alike. */
const isOfAllCalls = ({ name, message, ...error }: Error): boolean =>
  ('code' in error && /^(ENOTFOUND|EAI_AGAIN)$/.test(`${error.code}`)) ||
  /^CredentialsProviderError$|^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId)/.test(
    name,
  ) ||
  /region is missing|region not accepted/i.test(message);
