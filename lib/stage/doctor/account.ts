import { leastUnreserved } from '../connection/account.ts';
import { type Step, seen } from './step.ts';

export const accountLimits: Step = {
  id: 'account-limits',
  claim:
    'Beside what the functions of the account reserve, 100 containers are left, as many as Lambda wants to keep',
  does: 'Reads the limits of the account.',
  costs: 'nothing',
  minutes: 1,
  expected: `at least ${leastUnreserved} containers are not reserved`,
  rights: ['lambda:GetAccountSettings'],
  try: async (corner) => {
    const { lambda, sdk } = await corner.lambda();
    const { AccountLimit } = await lambda.send(new sdk.GetAccountSettingsCommand({}));
    const { ConcurrentExecutions: all, UnreservedConcurrentExecutions: free } = AccountLimit ?? {};
    if (free === undefined) return seen(false, 'AWS reported no limit');
    return seen(free >= leastUnreserved, `${free} of ${all} containers are not reserved`);
  },
};
