import { errorName } from '../../runtime/aws/error.ts';
import { lambdaOf } from '../lambda-client.ts';
import type { Target } from '../target.ts';

/** What the functions of serverless.yml reserve together. */
export const reservedContainers = 10;
/** Lambda refuses a reservation that leaves fewer to all other functions of the account. */
export const leastUnreserved = 100;

export type AccountReport = {
  /** Why a stage cannot be created in this account and region, and what to do. */
  problem?: { what: string; remedy: string };
  /** Why that is not known. */
  untried?: string;
};

/** Whether Lambda lets the account reserve what a stage needs. New accounts have 10 or 50 containers, and the default is 1,000. */
export const checkAccount = async (
  target: Pick<Target, 'lambdaOptions'>,
  reserved = reservedContainers,
): Promise<AccountReport> => {
  const { lambda, sdk } = await lambdaOf(target);
  try {
    const { AccountLimit } = await lambda.send(new sdk.GetAccountSettingsCommand({}));
    const { UnreservedConcurrentExecutions: free = 0, ConcurrentExecutions: all = free } = AccountLimit ?? {};
    const needed = reserved + leastUnreserved;
    if (free >= needed) return {};
    return {
      problem: {
        what: `Lambda runs at most ${all} containers at once in this account and region, of which ${free} are not reserved: a stage needs ${needed}, as it reserves ${reserved}, and Lambda keeps ${leastUnreserved} for others`,
        remedy:
          'Ask AWS for more in Service Quotas, “Concurrent executions” of Lambda, before you deploy: 1,000 are granted as a rule.',
      },
    };
  } catch (error) {
    if (!/^AccessDenied/.test(errorName(error) ?? '')) throw error;
    return {
      untried:
        'You may not read the account’s limits (lambda:GetAccountSettings): whether a stage fits was not tried.',
    };
  } finally {
    lambda.destroy();
  }
};
