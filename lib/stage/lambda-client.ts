import { awsClient } from '../runtime/aws/clients.ts';
import { RefusedError } from './command-errors.ts';
import type { Target } from './target.ts';

/** Separate from the other clients: no function may change a function, so no bundle holds this one. */
export const lambdaOf = async ({ lambdaOptions }: Pick<Target, 'lambdaOptions'>) => {
  if (lambdaOptions === undefined)
    throw new RefusedError(
      'The local stack is of an older version. Stop it, and start `npm run local` again.',
    );
  const sdk = await import('@aws-sdk/client-lambda');
  return { sdk, lambda: awsClient(sdk.LambdaClient, lambdaOptions) };
};
