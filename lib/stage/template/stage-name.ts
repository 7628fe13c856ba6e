/**
 * What is wrong with the name of a stage. Names of queues are allowed by what they begin with, so that `prod` would reach into a
 * stage `prod-2`; and a bucket's name has room for no more.
 */
export const stageProblem = (stage: string): string | undefined => {
  // They are sis-relay-deploy-<stage> in the guide: what is named by this stage would be theirs.
  if (stage === 'deploy')
    return 'The name of the stage, deploy, is also that of the roles that deploy other stages: choose another';
  return /^[a-z0-9]{1,19}$/.test(stage)
    ? undefined
    : `The name of the stage, ${stage}, must have at most 19 characters, all lower-case letters or digits`;
};

/** Where a stage has its settings. */
export const fileOf = (stage: string, folder: string | undefined): string =>
  `${folder ?? 'stages'}/${stage}.yml`;
