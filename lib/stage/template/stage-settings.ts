import * as z from 'zod';
import type { StageSetting } from '../../runtime/aws/setting.ts';
import { expectedSchema } from '../expected.ts';
import { functionNames } from '../function-names.ts';
import { unknownName } from '../nearest.ts';
import { itemsOf } from './cloudformation.ts';

const judgedBy = (problemOf: (value: string) => string | undefined) =>
  z.string().superRefine((value, context) => {
    const problem = problemOf(value);
    if (problem !== undefined) context.addIssue(problem);
  });

/** What each item of a list must be; a space behind a comma would let in nobody, and say nothing. */
const each = (form: RegExp, what: string) =>
  judgedBy((value) => {
    const wrong = itemsOf(value).filter((item) => !form.test(item));
    return wrong.length === 0
      ? undefined
      : `must be ${what}, and is not: ${wrong.join('; ')}. Separate several by commas without spaces`;
  });

const one = (form: RegExp, what: string) =>
  z.string().refine((value) => value === '' || form.test(value), `must be ${what}`);

/** `--param` may give a number for it. */
const yesOrNo = one(/^(true|false|1|0)$/i, 'true or false');
const logDays = /^([1357]|14|30|60|90|120|150|180|365|400|545|731|1096|1827|2192|2557|2922|3288|3653)$/;

/** What keeps letters and the connection in order belongs to every stage. */
const alwaysOn = ['dead-letter-replay', 'connection-check'];

/** Names what is no function, or cannot be off. */
const off = judgedBy((value) => {
  const names = functionNames().filter((name) => !alwaysOn.includes(name));
  const unknown = itemsOf(value).find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  // A space would be all that differs from the name that is meant.
  if (/\s/.test(unknown)) return `“${unknown}” is no function. Separate several by commas without spaces`;
  if (alwaysOn.includes(unknown)) return `${unknown} cannot be off: every stage needs it`;
  return unknownName('function', unknown, names);
});

/** The names of people's IAM roles. */
const roles = judgedBy((value) => {
  const wrong = itemsOf(value).find((name) => !/^[\w+=.@-]{1,64}$/.test(name));
  return wrong === undefined
    ? undefined
    : `${wrong} is not the name of an IAM role, as in sis-operators. Write names without their ARN, separated by commas without spaces`;
});

/** What a stage sets besides what its functions read: serverless.yml and the template use it. */
export const stageSettings = {
  region: {
    schema: one(/^[a-z]{2}(-[a-z]+)+-\d$/, 'a region such as eu-west-1'),
    usual: 'eu-west-1',
    description: 'The AWS region. `--region` overrides it.',
  },
  alarmEmail: {
    schema: z.email('is not a mail address'),
    usual: 'operations@example.edu',
    description: 'Gets the alarms’ mail.',
  },
  alarmEmailLater: {
    schema: z.union([z.literal(''), z.email('is not a mail address')]),
    usual: '',
    description:
      "Gets the mail of alarms that can wait (*today*, *this week*). Then `alarmEmail` gets only alarms that need somebody now. `''`: " +
      '`alarmEmail` gets all.',
  },
  repositoryUrl: {
    schema: one(
      /^https:\/\/[\w.-]+\/\S+$/,
      'an address such as https://github.com/university/sis-relay/blob/main',
    ),
    usual: '',
    description:
      'Where the files of this repository can be read, as in `https://github.com/university/sis-relay/blob/main`. Mails and the dashboard ' +
      "link to the runbook there. `''`: they name the runbook’s path.",
  },
  off: {
    schema: off,
    usual: '',
    description:
      "Functions that are not deployed, as in `submission-upload,course-export`: no queue, role, schedule, alarm or cost. `''`: all are " +
      'deployed. If you switch a function off later, its queue stays, with its messages.',
  },
  expected: {
    schema: expectedSchema,
    usual: '',
    description:
      'What the SIS sends, and how often, as in `grade-push 24h mon-fri 07-19; snapshots/oneroster 26h not 2026-12-24..2027-01-06`. An alarm ' +
      'goes off if nothing comes for so many hours. Only hours on the given days and at the given times count. An export is named by its ' +
      "feed ([nothing arrives](../desk/cli/README.md#nothing-arrives)). `''`: nothing is expected.",
  },
  logRetentionDays: {
    schema: one(logDays, 'a number that CloudWatch knows, as in 14, 30, 90 or 365'),
    usual: 14,
    prod: 90,
    description: 'How long logs are kept, in days.',
  },
  protected: {
    schema: yesOrNo,
    usual: false,
    prod: true,
    description:
      '`true`: neither the stack nor the ledger’s table can be deleted until this is switched off.',
  },
  tracing: {
    schema: one(/^(Active|PassThrough)$/, 'Active or PassThrough'),
    usual: 'PassThrough',
    description: '`Active`: AWS X-Ray traces each invocation.',
  },
  kmsKeyArn: {
    schema: one(/^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/, 'the ARN of a key'),
    usual: '',
    description:
      'The ARN of your own KMS key for queues, tables, the bucket and the secret `LedgerKey`. Its policy must let the account’s roles ' +
      "use it. `''`: AWS’ keys.",
  },
  kmsKeyForLogs: {
    schema: yesOrNo,
    usual: false,
    description:
      '`true`: `kmsKeyArn` also encrypts the functions’ logs. Let `logs.<region>.amazonaws.com` use the key before you deploy ' +
      '(`kms:Encrypt*`, `kms:Decrypt*`, `kms:ReEncrypt*`, `kms:GenerateDataKey*`, `kms:Describe*`), or the deployment fails.',
  },
  subnetIds: {
    schema: each(/^subnet-\w+$/, 'as in subnet-0a1b2c3d'),
    usual: '',
    description:
      'Private subnets with a NAT gateway, for a platform that admits only known addresses. The functions also reach AWS through them. ' +
      "`''`: no VPC.",
  },
  securityGroupIds: {
    schema: each(/^sg-\w+$/, 'as in sg-0a1b2c3d'),
    usual: '',
    description: 'The security groups in these subnets.',
  },
  producerTopics: {
    schema: each(/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w.-]+$/, 'the ARN of an SNS topic'),
    usual: '',
    description:
      'SNS topics that may send to the queues, by their ARNs. With a `kmsKeyArn`, the key’s policy must let `sns.amazonaws.com` use it ' +
      '(`kms:GenerateDataKey`, `kms:Decrypt`).',
  },
  producerRules: {
    schema: each(/^arn:[\w-]+:events:[\w-]+:\d{12}:rule\/[\w./-]+$/, 'the ARN of an EventBridge rule'),
    usual: '',
    description:
      'EventBridge rules that may send to the queues, by their ARNs. With a `kmsKeyArn`, the key’s policy must let `events.amazonaws.com` ' +
      'use it (`kms:GenerateDataKey`, `kms:Decrypt`).',
  },
  producerAccounts: {
    schema: each(/^\d{12}$/, 'the number of an AWS account, in quotation marks'),
    usual: '' as string | number,
    description:
      'AWS accounts that may send to the queues, by their numbers. Their roles need `sqs:SendMessage` as well, and, with a `kmsKeyArn`, ' +
      '`kms:GenerateDataKey` and `kms:Decrypt` for the key.',
  },
  readers: {
    schema: roles,
    usual: '',
    description:
      'The IAM roles, by their names, of the people who look. The stack attaches the policy `Readers` to them. A role of IAM Identity ' +
      "Center cannot be named: add the policy to its permission set. `''`: attach the policy by hand.",
  },
  operators: { schema: roles, usual: '', description: 'The IAM roles of the people who correct letters.' },
  leads: {
    schema: roles,
    usual: '',
    description: 'The IAM roles of the people who pause, publish and decide.',
  },
  permissionsBoundary: {
    schema: one(/^arn:[\w-]+:iam::(\d{12}|aws):policy\/[\w+=,.@/-]+$/, 'the ARN of a policy of IAM'),
    usual: '',
    description:
      "The ARN of a policy that bounds what all roles of the stage may do, whatever their own policies allow. `''`: none. If the deploying " +
      'role may create only roles with this boundary, a deployment can give the stage no rights beyond it ([deploy by the ' +
      'workflow](#deploy-by-the-workflow)).',
  },
  eventNotices: {
    schema: yesOrNo,
    usual: true,
    description:
      '`true`: S3 notifies queues of files under `events/<function>/`. With a `kmsKeyArn`, let `s3.amazonaws.com` use the key ' +
      '(`kms:GenerateDataKey`, `kms:Decrypt`) before you deploy, or the deployment fails; or set `false`.',
  },
} satisfies Record<string, StageSetting>;

/** What the template is made with: the parameters that functions do not read. */
export type TemplateOptions = {
  [Name in keyof typeof stageSettings]: (typeof stageSettings)[Name]['usual'];
} & {
  stage: string;
  queueVisibilitySeconds: number;
};
