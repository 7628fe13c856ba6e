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
  version: z.string().optional(),
  commit: z.string().optional(),
});
export type PausedBefore = z.infer<typeof pausedBefore>;

const nowOf = async (target: Target) => {
  const deployed = (await target.deployed?.()) ?? { version: undefined, commit: undefined };
  const all = await pausedFunctions(target, integrationNames());
  return { ...deployed, all };
};

export const pausedThroughDeployment: Step = {
  id: 'paused-through-deployment',
  claim: 'A deployment leaves a paused function paused',
  does: 'Records in the report which functions are paused. First pause a function. Afterwards, deploy, and pass the report to --after.',
  costs: 'nothing',
  minutes: 1,
  expected: 'what was paused before the deployment is paused after it',
  rights: [
    'cloudformation:DescribeStacks',
    'lambda:ListEventSourceMappings',
    'dynamodb:GetItem',
    'kms:Decrypt',
  ],
  try: async ({ target, before, remember }) => {
    const { changedMs, isDeployed, version, commit, all } = await nowOf(target);
    if (changedMs === undefined) return notHere('When the stack was last changed is not known.');
    if (all === undefined) return notHere('Which functions are paused cannot be read.');
    const stopped = all.filter(({ state }) => isStopped(state));
    // What is paused by hand has no record: afterwards, nobody would know who resumed it.
    const recorded = (each: { who?: string | undefined }): boolean => each.who !== undefined;
    const namesOf = (some: typeof all): string[] => some.map((each) => each.function);
    if (before === undefined) {
      const functions = namesOf(stopped.filter(recorded));
      if (functions.length === 0)
        return notHere('No function is paused: `sis-relay pause` one, then try this step again.');
      const deployedAt = new Date(changedMs).toISOString();
      remember({
        functions,
        deployedAt,
        ...(version !== undefined && { version }),
        ...(commit !== undefined && { commit }),
      });
      return notHere(`Paused: ${functions.join(', ')}. Deploy, then pass this report to --after.`);
    }
    if (changedMs <= Date.parse(before.deployedAt))
      return notHere('The stack was not changed since that report: deploy first.');
    if (isDeployed === false) return notHere('The deployment is still running, or was rolled back.');
    if (version === before.version)
      return notHere(
        'A deployment of the same version touches no event-source mapping: deploy another version.',
      );
    const ofThese = all.filter((each) => before.functions.includes(each.function));
    const paused = ofThese.filter((each) => stopped.includes(each));
    if (!paused.every(recorded)) return notHere('The records of the pauses cannot be read.');
    // Whoever resumes a function removes the record of its pause.
    const still = namesOf(paused);
    const resumed = namesOf(ofThese.filter((each) => recorded(each) && !paused.includes(each)));
    const resumedByPerson = before.functions.length - still.length - resumed.length;
    if (still.length + resumed.length === 0) return notHere('Somebody has resumed the functions since.');
    return seen(
      resumed.length === 0,
      [
        `${before.commit ?? 'an unknown commit'} → ${commit ?? 'an unknown commit'}`,
        `paused: ${still.join(', ') || 'none'}; not paused any more: ${resumed.join(', ') || 'none'}`,
        ...(resumedByPerson > 0 ? [`resumed by a person: ${resumedByPerson}`] : []),
      ].join('; '),
    );
  },
};
