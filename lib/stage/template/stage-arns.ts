import type { Integration } from '../../delivery/handle/integration.ts';
import {
  aliasOf,
  arnOf,
  functionIdOf,
  itemsOf,
  queueOf,
  ref,
  type Statement,
  sub,
} from './cloudformation.ts';
import type { TemplateOptions } from './stage-settings.ts';

export const ledgerArn = arnOf('Ledger');
export const letterIndexArn = arnOf('Desk');
/** The index by which lists are read. */
export const letterIndexByListArn = sub(`\${Desk.Arn}/index/by-list`);
export const crosswalkArn = arnOf('Crosswalk');
export const deadLettersArn = arnOf('DeadLetters');
export const bucketArn = arnOf('Files');
export const ledgerKey = ref('LedgerKey');

/** Objects in the bucket. */
export const objects = (...keys: string[]) => keys.map((key) => sub(`\${Files.Arn}/${key}`));

type Condition = NonNullable<Statement['Condition']>;

/** Of a table: only the items with these keys. */
export const leadingKeys = (...keys: string[]): Condition => ({
  'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys },
});

/** Of the bucket: only the names that begin so. To a caller who may list them, S3 says that an object is missing, not that it is forbidden. */
export const prefixes = (...keys: string[]): Condition => ({ StringLike: { 's3:prefix': keys } });

/** What the rights of a stage name. A name may have IAM’s wildcards. */
export const stageArns = (
  { stage, off, kmsKeyArn }: TemplateOptions,
  integrations: readonly Integration<unknown>[],
) => {
  const arn = (service: string, name: string) =>
    sub(`arn:\${AWS::Partition}:${service}:\${AWS::Region}:\${AWS::AccountId}:${name}`);
  const functionNamed = (name: string) => arn('lambda', `function:sis-relay-${stage}-${name}`);
  const ofDeployed = <Arn>(names: string[], arnOfOne: (name: string) => Arn): Arn[] =>
    names.filter((name) => !itemsOf(off).includes(name)).map(arnOfOne);
  return {
    arn,
    /** The integrations that are deployed. */
    integrations,
    /** Empty if AWS' own keys encrypt. */
    kmsKey: kmsKeyArn,
    queueOf: ({ name }: { name: string }) => arnOf(queueOf(name)),
    /** All queues of functions. */
    queues: integrations.map(({ name }) => arnOf(queueOf(name))),
    queueNamed: (name: string) => arn('sqs', `sis-relay-${stage}-${name}`),
    secretNamed: (name: string) => arn('secretsmanager', `secret:sis-relay/${stage}/${name}`),
    logNamed: (name: string) => arn('logs', `log-group:/aws/lambda/sis-relay-${stage}-${name}`),
    stackNamed: (name: string) => arn('cloudformation', `stack/sis-relay-${stage}/${name}`),
    functionNamed,
    // Functions that are off are left out of the next four.
    functions: (...names: string[]) => ofDeployed(names, (name) => arnOf(lambdaIdOf(name))),
    functionsAndVersions: (...names: string[]) =>
      ofDeployed(names, (name) => sub(`\${${lambdaIdOf(name)}.Arn}*`)),
    /** A durable function is called by its alias. */
    aliases: (...names: string[]) => ofDeployed(names, aliasOf),
    executions: (...names: string[]) =>
      ofDeployed(names, (name) => functionNamed(`${name}:*/durable-execution/*`)),
  };
};
export type StageArns = ReturnType<typeof stageArns>;

const lambdaIdOf = (name: string): string => `${functionIdOf(name)}LambdaFunction`;
