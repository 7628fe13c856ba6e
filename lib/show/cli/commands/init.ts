import type { Command } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';

export const addInit = (program: Command, cli: Cli): void => {
  program
    .command('init')
    .description('asks for the settings of a new stage, and writes its file')
    .option('--stages <folder>', 'folder of the stages’ files, as in ../our-relay/stages', 'stages')
    .option('--platform-url <url>', 'scheme, host and port of the learning platform')
    .option('--alarm-email <address>', 'who gets the alarms')
    .option('--lp-version <version>', 'version of the platform’s API lp')
    .option('--le-version <version>', 'version of the platform’s API le')
    .option('--off <functions>', 'functions that are not to be deployed, separated by commas')
    .option('--check', 'ask the platform whether it answers, has these versions and accepts the credential')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/init.ts')));
};

const examples = `
Examples:
  sis-relay init
  sis-relay init --stage prod --region eu-west-1 --check
  sis-relay init --stage prod --stages ../our-relay/stages

It asks for each setting that no option gives, and checks the answer. The file has only settings
that differ from stage to stage; add others by hand. serverless.yml reads stages/<stage>.yml; for
another folder, set SIS_RELAY_STAGES. Git ignores stages/, so no update conflicts with it.`;
