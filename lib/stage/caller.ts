import { awsClient, type ClientOptions, timeouts } from '../runtime/aws/clients.ts';
import { logText } from '../runtime/privacy/log-text.ts';

/** The identity of the credentials, as AWS reports it; or why it is unknown. */
export type ReadCaller = (options: ClientOptions) => Promise<string>;

/** Only the command uses it, so that no function's bundle holds the client. It needs no right. */
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
    // If the credentials are refused here, the calls that follow report it.
    return `not known (${logText(error instanceof Error ? error.name : 'error')})`;
  } finally {
    client.destroy();
  }
};
