import type * as z from 'zod';
import { platformSettings } from '../runtime/aws/settings.ts';
import { functionNames } from './function-names.ts';
import { regionProblem } from './regions.ts';
import { addressProblem } from './template/address-problem.ts';
import { stageProblem } from './template/stage-name.ts';
import { stageSettings } from './template/stage-settings.ts';

const { baseUrl, lpVersion, leVersion } = platformSettings;

/** What a new stage is asked. The names, but for that of the stage, are parameters of a stage. */
export type StageAnswers = Record<(typeof questions)[number]['name'], string>;

export type Question = {
  name: string;
  text: string;
  /** What an answer looks like: it follows the question, and what is wrong with an answer. */
  hint: string;
  /** The answer to Enter; undefined: there is none. */
  usual?: string;
  /** Why an answer cannot be taken. */
  problem(answer: string): string | undefined;
};

const problemBy =
  (schema: z.ZodType) =>
  (answer: string): string | undefined =>
    schema.safeParse(answer).error?.issues[0]?.message;

const rolesOf = <Name extends 'readers' | 'operators' | 'leads'>(name: Name, what: string) => ({
  name,
  usual: '',
  problem: problemBy(stageSettings[name].schema),
  text: `IAM roles of the people who ${what}`,
  hint: 'by name, separated by commas, as in sis-operators',
});

export const questions = [
  {
    name: 'stage',
    text: 'Name of the stage',
    hint: 'as in test or prod',
    usual: 'prod',
    problem: (answer) =>
      answer === 'local' ? 'local is the stack on this machine: name another stage' : stageProblem(answer),
  },
  {
    name: 'region',
    text: 'AWS region',
    hint: 'as in eu-west-1',
    problem: regionProblem,
  },
  {
    name: 'platformUrl',
    text: 'Address of the learning platform',
    hint: 'as in https://platform.university.edu',
    problem: (answer) =>
      problemBy(baseUrl.schema)(answer) ?? addressProblem('platformUrl', answer, { examples: false }),
  },
  {
    name: 'alarmEmail',
    text: 'Mail address for alarms',
    hint: 'as in operations@university.edu',
    problem: (answer) => addressProblem('alarmEmail', answer, { examples: false }),
  },
  {
    name: 'lpVersion',
    text: 'Version of the platform’s API lp',
    hint: `as in ${lpVersion.usual}`,
    usual: lpVersion.usual,
    problem: problemBy(lpVersion.schema),
  },
  {
    name: 'leVersion',
    text: 'Version of the platform’s API le',
    hint: `as in ${leVersion.usual}`,
    usual: leVersion.usual,
    problem: problemBy(leVersion.schema),
  },
  {
    name: 'off',
    text: 'Functions that are not to be deployed',
    hint: `separated by commas, of ${functionNames().join(', ')}`,
    usual: '',
    problem: problemBy(stageSettings.off.schema),
  },
  rolesOf('readers', 'look'),
  rolesOf('operators', 'put letters right'),
  rolesOf('leads', 'pause, publish and decide'),
] as const satisfies Question[];

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The file of a stage. */
export const stageFile = ({
  stage,
  ...answers
}: StageAnswers): string => `# The settings of the stage ${stage} of sis-relay. Nothing here is secret: credentials are in Secrets Manager alone.
# All settings, with their meanings and defaults: lib/stage/README.md
region: ${quoted(answers.region)}
platformUrl: ${quoted(answers.platformUrl)}
# The versions of the platform's API that are called.
lpVersion: ${quoted(answers.lpVersion)}
leVersion: ${quoted(answers.leVersion)}
# Gets the alarms' mail.
alarmEmail: ${quoted(answers.alarmEmail)}
# Optional: what can wait until today or this week goes to another address, and mails link the runbook.
# alarmEmailLater: ''
# repositoryUrl: 'https://github.com/university/sis-relay/blob/main'
# An alarm if nothing arrives, such as no grade in 24 hours of working days, or no export in 26 hours. The hours are those of timeZone.
# expected: 'grade-push 24h mon-fri 07-19; snapshots/oneroster 26h'
# timeZone: 'Europe/Vienna'
# Functions that are not deployed.
off: ${quoted(answers.off)}
# The IAM roles of the people who look, who put letters right, and who decide. '': attach the policies by hand.
readers: ${quoted(answers.readers)}
operators: ${quoted(answers.operators)}
leads: ${quoted(answers.leads)}
# true: neither the stack nor the ledger's table can be deleted until this is switched off.
protected: ${stage === 'prod'}
`;
