import { awsClient, type ClientOptions, timeouts } from '../../runtime/aws/clients.ts';
import { safeText } from '../../runtime/privacy/log-text.ts';

/** Whose credentials act, as AWS says; or why that is not known. */
export type ReadCaller = (options: ClientOptions) => Promise<string>;

/** For the command alone: no function's bundle holds the client. No right is needed. */
export const readCaller: ReadCaller = async (options) => {
  const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
  const client = awsClient(STSClient, {
    ...options,
    ...timeouts({ connectionMs: 3_000, requestMs: 5_000 }),
    maxAttempts: 2,
  });
  try {
    const { Arn } = await client.send(new GetCallerIdentityCommand({}));
    return Arn ?? 'not known';
  } catch (error) {
    // Whoever may do nothing is refused by the calls that follow.
    return `not known (${safeText(error instanceof Error ? error.name : 'error')})`;
  } finally {
    client.destroy();
  }
};
