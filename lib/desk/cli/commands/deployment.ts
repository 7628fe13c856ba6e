import { type Command, Option } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { wholeNumber } from '../options.ts';

export const addDeployment = (program: Command, cli: Cli): void => {
  program
    .command('scopes')
    .description('lists exactly the OAuth scopes that each function needs')
    .argument('[function...]', 'names of functions; default: all')
    .addHelpText('after', examples.scopes)
    .action(action(cli, () => import('../actions/scopes.ts'), 'scopes'));
  program
    .command('auth-url')
    .description('has a user authorize sis-relay with an ID and key, and stores them in the user’s secret')
    .requiredOption(
      '--callback <url>',
      'address that the platform redirects the user’s browser to, with the id and key',
    )
    .option('--returned <file>', 'read the address that the browser was redirected to from this file')
    .option(
      '--app-secret <name>',
      'name of the secret with appId and appKey, without the prefix of secrets',
      'service',
    )
    .option('--entry-path <path>', 'path of the token entry, if it is not beside the API')
    .option('--yes', 'write the secret without asking')
    .addHelpText('after', examples.authUrl)
    .action(action(cli, () => import('../actions/auth-url.ts'), 'authUrl'));
  program
    .command('init')
    .description('asks for the settings of a new stage, and writes its file')
    .option('--stages <folder>', 'folder of the stages’ files, as in ../our-relay/stages', 'stages')
    .option('--platform-url <url>', 'scheme, host and port of the learning platform')
    .option('--alarm-email <address>', 'who gets the alarms')
    .option('--lp-version <version>', 'version of the platform’s API lp')
    .option('--le-version <version>', 'version of the platform’s API le')
    .option('--off <functions>', 'functions that are not to be deployed, separated by commas')
    .option('--readers <roles>', 'IAM roles of the people who look, by name, separated by commas')
    .option('--operators <roles>', 'IAM roles of the people who put letters right')
    .option('--leads <roles>', 'IAM roles of the people who pause, publish and decide')
    .option('--check', 'ask the platform whether it answers, has these versions and accepts the credential')
    .addHelpText('after', examples.init)
    .action(action(cli, () => import('../actions/init.ts'), 'init'));
  program
    .command('doctor')
    .description('tries on a deployed stage what sis-relay takes for granted of AWS, and writes a report')
    .argument('[step...]', 'ids of steps; default: all')
    .option('--list', 'say what each step does, costs and needs, and try none')
    .option('--report <file>', 'file of the report; default: one in this folder, named after the run')
    .option('--after <file>', 'report of a run before a deployment: say what became of paused functions')
    .option('--yes', 'try the steps without asking')
    .addHelpText('after', examples.doctor)
    .action(action(cli, () => import('../actions/doctor.ts'), 'doctor'));
  program
    .command('console')
    .description('opens the console in a browser on this machine; it has your rights on AWS')
    .option('--port <n>', 'port on this machine; 0: any free port', wholeNumber(0, 65_535), 4747)
    .option('--no-open', 'print the address, and open no browser')
    .option('--read-only', 'show everything, and allow no changes', false)
    .addOption(
      new Option('--idle <minutes>', 'end after this many minutes without use')
        .default(30)
        .argParser(wholeNumber(1, 1_440)),
    )
    .addHelpText('after', examples.console)
    .action(action(cli, () => import('../actions/console.ts'), 'openConsole'));
};

const examples = {
  scopes: `
Examples:
  sis-relay scopes
  sis-relay scopes grade-push enrollment-create
  sis-relay scopes --json

If PLATFORM_OPERATIONS is set, the list has the scopes that it names.`,
  authUrl: `
Examples:
  sis-relay auth-url --callback https://sis.example.edu/done --stage prod
  sis-relay auth-url --callback https://sis.example.edu/done --returned address.txt --yes

Open the address in a browser as that user. Then copy the address that the browser is redirected to;
no page needs to exist there. It holds the user’s key, so never put it on a command line. The
platform’s address comes from the stack of the stage, or from PLATFORM_URL. The application’s id
and key must be in the service’s secret.`,
  init: `
Examples:
  sis-relay init
  sis-relay init --stage prod --region eu-west-1 --check
  sis-relay init --stage prod --stages ../our-relay/stages

It asks for each setting that no option gives, and checks the answer. The file has only settings
that differ from stage to stage; add others by hand. serverless.yml reads stages/<stage>.yml, and
--stage takes its region from there. For another folder, set SIS_RELAY_STAGES. Git ignores stages/,
so no update conflicts with it.`,
  doctor: `
Examples:
  sis-relay doctor --list
  sis-relay doctor --stage test
  sis-relay doctor redrive refused-write --stage test
  sis-relay doctor --stage test --after sis-relay-test-doctor-1f2e3d4c.json

Each step has things of its own, and removes them, also after Ctrl-C; nothing is changed on the
platform. Use the credentials of the role that deploys: no role of the people who operate a stage
has the rights. A step without a right says which one. The report names no account and no person.`,
  console: `
Examples:
  sis-relay console --stage prod
  sis-relay console --local --read-only
  sis-relay console --local --port 0 --no-open --json

Every screen has a path of its own, so a colleague can open it in their own console of the same stage.
The console answers only this machine. It ends with Ctrl-C, or when it is not used.`,
};
