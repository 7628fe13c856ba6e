import { join, relative } from 'node:path';
import { bundle } from './esbuild.config.ts';

/** What of osls is used here; its version is pinned. */
type Serverless = {
  serviceDir: string;
  processedInput: { commands: string[] };
  service: {
    functions: Record<string, { package?: { artifact: string }; role: string }>;
    resources: object;
    provider: {
      stage: string;
      compiledCloudFormationTemplate: Template;
      /** What Lambda has, where one function is deployed. */
      remoteFunctionData?: { Configuration: { Role: string } };
    };
  };
  pluginManager: { plugins: object[] };
};
type Utils = { writeText(text: string): void };
type Zipper = { zipFiles(files: string[], zipFileName: string, prefix: string): Promise<string> };
// biome-ignore lint/suspicious/noExplicitAny: each type of resource has properties of its own.
type Template = { Resources: Record<string, { Type: string; Properties: any }> };

/**
 * A plugin of osls, for `serverless package` and `serverless deploy` alike: every function is bundled afresh, so that none is
 * deployed as it was some time ago, and the loops in `resources` are written out.
 */
export default class Packaging {
  readonly hooks: Record<string, () => Promise<void> | void>;

  constructor(serverless: Serverless, options: { function?: string; stage?: string }, { writeText }: Utils) {
    const { service, processedInput } = serverless;
    checkStage(options.stage ?? service.provider.stage);
    // osls keeps this very object in other places too.
    Object.assign(service.resources, writeOut(service.resources));
    this.hooks = {
      'before:package:createDeploymentArtifacts': () => bundled(serverless, Object.keys(service.functions)),
      'before:package:function:package': () => bundled(serverless, [options.function ?? '']),
      // Its role stays the stack's. osls would look for a name, which CloudFormation gives, and then for a role of that name.
      'before:deploy:function:deploy': () => {
        const [stanza, remote] = [
          service.functions[options.function ?? ''],
          service.provider.remoteFunctionData,
        ];
        if (stanza && remote) stanza.role = remote.Configuration.Role;
      },
      finalize: () => {
        if (processedInput.commands[0] === 'package')
          writeText(inventoryOf(service.provider.compiledCloudFormationTemplate));
      },
    };
  }
}

/**
 * Names of queues are allowed by what they begin with, so that `prod` would reach into a stage `prod-2`; and a bucket's name
 * has room for no more.
 */
export const checkStage = (stage: string): void => {
  if (!/^[a-z0-9]{1,19}$/.test(stage))
    throw new Error(`The stage ${stage} must be of at most 19 lower-case letters and digits`);
};

const bundled = async (
  { serviceDir, service, pluginManager }: Serverless,
  names: string[],
): Promise<void> => {
  // osls' own, because it writes the same bytes for the same files: in order of their names, and all of one time.
  const zipper = pluginManager.plugins.find((plugin): plugin is Zipper => 'zipFiles' in plugin);
  if (!zipper) throw new Error('This osls has no zipFiles');
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

/**
 * Does with Fn::ForEach what CloudFormation's AWS::LanguageExtensions would do, but before anything is deployed, so that the
 * template that was tested is the one that is deployed. `${name}` stands for an item of the collection, and `&{name}` for its
 * letters and digits, which is all that a logical id may hold.
 */
export const writeOut = (part: unknown, items: Record<string, string> = {}): unknown => {
  if (typeof part === 'string')
    return part.replace(/([$&])\{(\w+)\}/g, (text, sign: string, name: string) => {
      const item = items[name];
      return (sign === '&' ? item?.replace(/[^a-zA-Z0-9]/g, '') : item) ?? text;
    });
  if (Array.isArray(part)) return part.map((each) => writeOut(each, items));
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part).flatMap(([key, value]): [string, unknown][] => {
    if (!key.startsWith('Fn::ForEach::')) return [[`${writeOut(key, items)}`, writeOut(value, items)]];
    const [name, collection, fragment] = value as [string, string[], object];
    return collection.flatMap((item) =>
      Object.entries(writeOut(fragment, { ...items, [name]: item }) as object),
    );
  });
  return Object.fromEntries(entries);
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
    row: ({ MetricName, Dimensions, ComparisonOperator, Threshold }, id) => [
      id,
      Dimensions[0].Value,
      MetricName,
      `${ComparisonOperator === 'GreaterThanThreshold' ? 'over' : 'under'} ${Threshold}`,
    ],
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
