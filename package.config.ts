import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { bundle } from './esbuild.config.ts';
import type { ClientOptions } from './lib/runtime/aws/clients.ts';
import { readSettings } from './lib/runtime/aws/setting.ts';
import { checkAccount } from './lib/stage/connection/account.ts';
import { readStack } from './lib/stage/stack-outputs.ts';
import { addressProblem } from './lib/stage/template/address-problem.ts';
import { itemsOf } from './lib/stage/template/cloudformation.ts';
import { lostSettings, settingsOutput } from './lib/stage/template/deployed-settings.ts';
import { setHandlersAndRoles } from './lib/stage/template/roles.ts';
import { fileOf, stageProblem } from './lib/stage/template/stage-name.ts';
import type { Custom, createTemplate, FunctionEnvironment, Stanza } from './lib/stage/template/template.ts';
import { ownVersion } from './lib/stage/version.ts';

/** What of osls is used here; its version is pinned. */
type Serverless = {
  serviceDir: string;
  processedInput: { commands: string[] };
  service: {
    custom: Custom;
    functions: Record<string, Stanza & { package?: { artifact: string } }>;
    resources: Parameters<typeof createTemplate>[2];
    provider: {
      stage: string;
      environment: FunctionEnvironment;
      deletionProtection: boolean;
      stackTags: Record<string, string>;
      vpc?: object;
      compiledCloudFormationTemplate: Template;
      /** What Lambda has, where one function is deployed. */
      remoteFunctionData?: { Configuration: { Role: string } };
    };
  };
  pluginManager: { plugins: object[] };
  /** serverless.yml, with what its variables stand for. */
  configurationInput: { params: Record<string, Record<string, unknown>> };
  getProvider(name: 'aws'): {
    naming: { getStackName(): string };
    getRegion(): string;
    getAwsSdkV3CredentialsProvider(): Extract<ClientOptions['credentials'], () => unknown>;
  };
  classes: { Error: new (text: string) => Error };
};
type Options = { function?: string; stage?: string; 'accept-settings'?: boolean };
type Utils = { writeText(text: string): void };
type Zipper = { zipFiles(files: string[], zipFileName: string, prefix: string): Promise<string> };
type Template = {
  // biome-ignore lint/suspicious/noExplicitAny: each type of resource has properties of its own.
  Resources: Record<string, { Type: string; Properties: any }>;
  Outputs?: Record<string, { Value: unknown }>;
};

/**
 * A plugin of osls, for `serverless package` and `serverless deploy` alike: every function is bundled afresh, so that none is
 * deployed as it was some time ago, and the template is made from what the functions declare.
 */
export default class Packaging {
  readonly hooks: Record<string, () => Promise<void> | void>;
  readonly commands = {
    deploy: {
      options: {
        'accept-settings': {
          usage: 'Deploys although settings of the last deployment would be lost',
          type: 'boolean',
        },
      },
    },
  };

  constructor(serverless: Serverless, options: Options, { writeText }: Utils) {
    const { service, processedInput } = serverless;
    const problem = stageProblem(options.stage ?? service.provider.stage);
    if (problem !== undefined) throw new serverless.classes.Error(problem);
    setHandlersAndRoles(service.functions);
    this.hooks = {
      'before:package:initialize': () => withoutStack(serverless, () => prepare(serverless)),
      'after:package:compileEvents': () => leavePaused(service),
      'before:package:createDeploymentArtifacts': () => bundled(serverless, Object.keys(service.functions)),
      'before:package:function:package': () => bundled(serverless, [options.function ?? '']),
      // Before anything is uploaded; what `--package` deploys was packaged elsewhere.
      'before:aws:deploy:deploy:createStack': () =>
        withoutStack(serverless, () => checkDeployment(serverless, options)),
      // Its role stays the stack's. osls would look for a name, which CloudFormation gives, and then for a role of that name.
      'before:deploy:function:deploy': () => {
        const [stanza, remote] = [
          service.functions[options.function ?? ''],
          service.provider.remoteFunctionData,
        ];
        if (stanza && remote) stanza.role = remote.Configuration.Role;
        // osls leaves an environment as it is that has addresses which only CloudFormation knows.
        addEnvironments(service);
      },
      finalize: () => {
        if (processedInput.commands[0] === 'package')
          writeText(inventoryOf(service.provider.compiledCloudFormationTemplate));
      },
    };
  }
}

/** So many containers can run at once, of those that a queue or a limit of their own holds. */
const maxContainers = (stanzas: Stanza[]): number =>
  stanzas
    .flatMap(({ reservedConcurrency = 0, events = [] }) => [
      reservedConcurrency,
      ...events.map(({ sqs }) => Number(sqs?.maximumConcurrency ?? 0)),
    ])
    .reduce((sum, each) => sum + each, 0);

/** @throws Error if the account has no room for a new stage, or naming the settings of the last deployment that this one has not. */
const checkDeployment = async (serverless: Serverless, options: Options): Promise<void> => {
  const { service, configurationInput } = serverless;
  const aws = serverless.getProvider('aws');
  const credentials = aws.getAwsSdkV3CredentialsProvider();
  // Where there are none, osls says how to give them.
  await credentials();
  const clientOptions = { region: aws.getRegion(), credentials };
  const stack = await readStack(aws.naming.getStackName(), clientOptions);
  const { Resources } = service.provider.compiledCloudFormationTemplate;
  if (stack.isMissing) return checkRoom(clientOptions, Resources);
  if (stack.why !== undefined) throw new Error(stack.why);
  const { stage } = service.custom.options;
  const { compiledCloudFormationTemplate: template } = service.provider;
  const { params } = configurationInput;
  const lost = lostSettings(
    stack.outputs[settingsOutput] ?? '',
    `${template.Outputs?.[settingsOutput]?.Value ?? ''}`,
    {
      ...params.default,
      ...params[stage],
    },
  );
  if (lost.length === 0 || options['accept-settings']) return;
  throw new Error(
    `The stage ${stage} was deployed with settings that this deployment would set back to their defaults: ${lost.join(', ')}. ` +
      `Write them into ${fileOf(stage, process.env.SIS_RELAY_STAGES)}, or name the folder of the stage's file in SIS_RELAY_STAGES. ` +
      'To deploy without them, pass --accept-settings',
  );
};

const checkRoom = async (lambdaOptions: ClientOptions, resources: Template['Resources']): Promise<void> => {
  const reserved = Object.values(resources).reduce(
    (sum, { Properties }) => sum + (Properties?.ReservedConcurrentExecutions ?? 0),
    0,
  );
  const { problem } = await checkAccount({ lambdaOptions }, reserved);
  if (problem !== undefined) throw new Error(`${problem.what}. ${problem.remedy}`);
};

/** Whoever packages a protected stage without its file sets it back to the defaults. */
const checkStageFile = ({ provider, custom }: Serverless['service']): void => {
  const { stage } = custom.options;
  const file = fileOf(stage, process.env.SIS_RELAY_STAGES);
  if (provider.deletionProtection && !existsSync(file))
    throw new Error(
      `The stage ${stage} is protected, and there is no ${file}. ` +
        `Run npx sis-relay init --stage ${stage}, or name the folder of its file in SIS_RELAY_STAGES`,
    );
};

/** A function that an operator has paused stays so: what a template does not say of a mapping, no deployment changes. */
const leavePaused = ({ provider }: Serverless['service']): void => {
  for (const { Type, Properties } of Object.values(provider.compiledCloudFormationTemplate.Resources))
    if (Type === 'AWS::Lambda::EventSourceMapping' && Properties.Enabled) delete Properties.Enabled;
};

/** What serverless.yml gives takes precedence over what follows from the settings. */
const addEnvironments = ({ provider, functions, custom: { environments } }: Serverless['service']): void => {
  provider.environment = asTexts({ ...environments.all, ...provider.environment });
  for (const [name, stanza] of Object.entries(functions))
    stanza.environment = asTexts({ ...environments.own[name], ...stanza.environment });
};

/** osls has made texts of the numbers in serverless.yml before. */
const asTexts = (environment: FunctionEnvironment): FunctionEnvironment =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      typeof value === 'object' ? value : String(value),
    ]),
  );

/** Checks the settings, and makes the template. */
const prepare = async (serverless: Serverless): Promise<void> => {
  const { custom, functions, provider, resources } = serverless.service;
  checkStageFile(serverless.service);
  addEnvironments(serverless.service);
  const seconds = Number(provider.environment.QUEUE_VISIBILITY_SECONDS);
  const given = { ...custom.options, queueVisibilitySeconds: seconds };
  const { createTemplate } = await import('./lib/stage/template/template.ts');
  // osls keeps this very object in other places too.
  Object.assign(resources, await createTemplate(functions, { ...custom, options: given }, resources));
  const [subnetIds, securityGroupIds] = [given.subnetIds, given.securityGroupIds].map(itemsOf);
  if (subnetIds?.length) provider.vpc = { subnetIds, securityGroupIds };
  provider.environment.PACE_CONTAINERS = maxContainers(Object.values(functions));
  // So that `sis-relay status` can compare it with itself. A tag is passed on to every resource, so that a new commit in a tag would
  // update all of them.
  const { version, commit } = ownVersion();
  Object.assign(provider.stackTags, { version });
  if (commit !== undefined) Object.assign(resources.Outputs, { Commit: { Value: commit } });
  await checkSettings(serverless);
};

/**
 * What our checks refuse is a plain Error, whose message says all. Only with an error of its own, osls shows no stack. A defect keeps its
 * stack.
 */
const withoutStack = async ({ classes }: Serverless, work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    throw error instanceof Error && error.constructor === Error ? new classes.Error(error.message) : error;
  }
};

/** What the stack will have made: any text that settings take for an address. */
const made = 'https://made.by.the.stack';

/**
 * What the functions would refuse at their first start, or nobody would ever read, is told before anything is deployed.
 * Where no people depend on it, and nothing is deployed, the examples may stay.
 */
const checkSettings = async ({ service, processedInput }: Serverless): Promise<void> => {
  // osls requires this file: it cannot wait for what it imports.
  const { declaredSettingsOf } = await import('./lib/stage/template/all-settings.ts');
  const { provider, functions, custom } = service;
  for (const [name, { environment }] of Object.entries(functions)) {
    const variables = Object.entries({ ...provider.environment, ...environment });
    const known = variables.map(([variable, value]) => [
      variable,
      typeof value === 'object' ? made : `${value}`,
    ]);
    readSettings(declaredSettingsOf(name), Object.fromEntries(known));
  }
  const examples = processedInput.commands[0] === 'package' && !provider.deletionProtection;
  const problems = [
    addressProblem('platformUrl', `${provider.environment.PLATFORM_URL}`, { examples }),
    addressProblem('alarmEmail', custom.options.alarmEmail, { examples }),
  ].filter((each) => each !== undefined);
  if (problems.length > 0)
    throw new Error(
      `Correct these settings in ${fileOf(custom.options.stage, process.env.SIS_RELAY_STAGES)}, or pass them with --param: ${problems.join('; ')}`,
    );
};

const bundled = async (
  { serviceDir, service, pluginManager }: Serverless,
  names: string[],
): Promise<void> => {
  // osls' own, because it writes the same bytes for the same files: in order of their names, and all of one time.
  const zipper = pluginManager.plugins.find((plugin): plugin is Zipper => 'zipFiles' in plugin);
  if (!zipper) throw new Error('This version of osls has no zipFiles. Install the version in package.json');
  const folder = join(serviceDir, '.serverless');
  await Promise.all(
    names.map(async (name) => {
      const stanza = service.functions[name];
      if (!stanza) return;
      const codeDir = join(folder, 'code', name);
      const files = await bundle(name, { codeDir, mapDir: join(folder, 'maps', name) });
      const zip = await zipper.zipFiles(files, `${name}.zip`, codeDir);
      stanza.package = { artifact: relative(serviceDir, zip) };
    }),
  );
};

type Row = (properties: Template['Resources'][string]['Properties'], id: string) => unknown[];

/** What people want to know of a deployment before it is done, by type of resource. */
const listed: Record<string, { title: string; row: Row }> = {
  'AWS::Lambda::Function': {
    title: 'functions',
    row: ({ FunctionName, MemorySize, Timeout, Role, DurableConfig }) => [
      FunctionName,
      `${MemorySize} MB`,
      `${Timeout} s`,
      `as ${Role['Fn::GetAtt'][0]}`,
      DurableConfig ? `durable, at most ${DurableConfig.ExecutionTimeout / 3600} h` : '',
    ],
  },
  'AWS::SQS::Queue': {
    title: 'queues',
    row: ({ QueueName, MessageRetentionPeriod, RedrivePolicy }) => [
      QueueName,
      `kept ${MessageRetentionPeriod / 86_400} days`,
      RedrivePolicy ? `at most ${RedrivePolicy.maxReceiveCount} receipts` : '',
    ],
  },
  'AWS::Scheduler::Schedule': {
    title: 'schedules',
    row: ({ ScheduleExpression, Name }) => [Name, ScheduleExpression],
  },
  'AWS::IAM::Role': {
    title: 'roles',
    row: ({ AssumeRolePolicyDocument }, id) => [
      id,
      `assumed by ${AssumeRolePolicyDocument.Statement[0].Principal.Service}`,
    ],
  },
  'AWS::IAM::ManagedPolicy': {
    title: 'policies for others',
    row: ({ Description }, id) => [id, Description],
  },
  'AWS::DynamoDB::Table': { title: 'tables', row: ({ TableName }) => [TableName] },
  'AWS::S3::Bucket': { title: 'buckets', row: ({ BucketName }, id) => [BucketName?.['Fn::Sub'] ?? id] },
  'AWS::SNS::Topic': { title: 'topics', row: ({ TopicName }) => [TopicName] },
  'AWS::CloudWatch::Alarm': {
    title: 'alarms',
    row: ({ AlarmDescription }, id) => [id, AlarmDescription],
  },
  'AWS::CloudWatch::CompositeAlarm': {
    title: 'alarms made of others',
    row: ({ AlarmDescription }, id) => [id, AlarmDescription],
  },
  'AWS::CloudWatch::Dashboard': { title: 'dashboards', row: ({ DashboardName }) => [DashboardName] },
};

const inventoryOf = ({ Resources }: Template): string => {
  const sections = Object.entries(listed).map(([type, { title, row }]) => {
    const rows = Object.entries(Resources).flatMap(([id, { Type, Properties }]) =>
      Type === type ? [row(Properties, id).map(String)] : [],
    );
    return rows.length === 0 ? '' : `\n${title} (${rows.length})\n${aligned(rows)}`;
  });
  return `\nWhat a deployment makes:\n${sections.join('')}`;
};

const aligned = (rows: string[][]): string =>
  rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(Math.max(...rows.map((each) => each[at]?.length ?? 0))))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `  ${line}\n`)
    .join('');
