import type { GetFunctionConfigurationCommandOutput } from '@aws-sdk/client-lambda';
import { unlessError } from '../../runtime/aws/error.ts';
import type { StepSandbox } from './sandbox.ts';

/** Undefined: the stage has no such function, as with `off`. */
export const deployedFunction = async (
  { lambda: lambdaOf, target }: Pick<StepSandbox, 'lambda' | 'target'>,
  name: string,
): Promise<GetFunctionConfigurationCommandOutput | undefined> => {
  const { lambda, sdk } = await lambdaOf();
  const get = new sdk.GetFunctionConfigurationCommand({ FunctionName: `${target.prefix}${name}` });
  return unlessError(/^ResourceNotFoundException$/, () => lambda.send(get));
};
