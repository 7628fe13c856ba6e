import * as z from 'zod';
import { integrationNames } from '../function-names.ts';
import { isStopped, pausedFunctions } from '../pause.ts';
import type { Target } from '../target.ts';
import { notHere, type Step, seen } from './step.ts';

/** What was paused before a deployment. */
export const pausedBefore = z.object({
  functions: z.array(z.string()),
  /** When CloudFormation last changed the stack. */
  deployedAt: z.iso.datetime(),
  commit: z.string().optional(),
});
export type PausedBefore = z.infer<typeof pausedBefore>;

const nowOf = async (target: Target) => {
  const { changedMs, commit } = (await target.deployed?.()) ?? {};
  const all = await pausedFunctions(target, integrationNames());
  return { changedMs, commit, all };
};

export const pausedThroughDeployment: Step = {
  id: 'paused-through-deployment',
  claim: 'A deployment leaves a paused function paused',
  does: 'Notes in the report which functions are paused. Pause one before, deploy afterwards, and pass the report to --after.',
  costs: 'nothing',
  minutes: 1,
  expected: 'what was paused before the deployment is paused after it',
  rights: ['cloudformation:DescribeStacks', 'lambda:ListEventSourceMappings', 'dynamodb:GetItem'],
  try: async ({ target, before, remember }) => {
    const { changedMs, commit, all } = await nowOf(target);
    if (changedMs === undefined) return notHere('When the stack was last changed is not known.');
    if (all === undefined) return notHere('Which functions are paused cannot be read.');
    const stopped = all.filter(({ state }) => isStopped(state)).map((each) => each.function);
    if (before === undefined) {
      if (stopped.length === 0)
        return notHere('No function is paused: `sis-relay pause` one, then try this step again.');
      const deployedAt = new Date(changedMs).toISOString();
      remember({ functions: stopped, deployedAt, ...(commit !== undefined && { commit }) });
      return notHere(`Paused: ${stopped.join(', ')}. Deploy, then pass this report to --after.`);
    }
    if (changedMs <= Date.parse(before.deployedAt))
      return notHere('The stack was not changed since that report: deploy first.');
    // Whoever resumes a function removes the record of its pause.
    const recorded = all.filter(({ who }) => who !== undefined).map((each) => each.function);
    const still = before.functions.filter((name) => stopped.includes(name));
    const undone = before.functions.filter((name) => !stopped.includes(name) && recorded.includes(name));
    const resumed = before.functions.length - still.length - undone.length;
    if (still.length + undone.length === 0) return notHere('Somebody has resumed the functions since.');
    return seen(
      undone.length === 0,
      [
        `${before.commit ?? 'an unknown commit'} → ${commit ?? 'an unknown commit'}`,
        `paused: ${still.join(', ') || 'none'}; not paused any more: ${undone.join(', ') || 'none'}`,
        ...(resumed > 0 ? [`resumed by a person: ${resumed}`] : []),
      ].join('; '),
    );
  },
};
