// biome-ignore lint/suspicious/noExplicitAny: what properties there are differs by type, and CloudFormation's validator knows it.
export type Properties = Record<string, any>;
type Resource = {
  Type: string;
  Properties: Properties;
  Condition?: string;
  DependsOn?: string | string[];
  DeletionPolicy?: string;
  UpdateReplacePolicy?: string;
};
export type Template = {
  Resources: Record<string, Resource>;
  Outputs?: Record<string, { Value: unknown }>;
};

/** The account and region of the local stack's queues. */
const partition = 'aws';
const region = 'us-east-1';
const account = '000000000000';

const pseudo: Record<string, string> = {
  'AWS::Partition': partition,
  'AWS::Region': region,
  'AWS::AccountId': account,
};

const arn = (service: string, rest: string, where = `${region}:${account}`) =>
  `arn:${partition}:${service}:${where}:${rest}`;

/** By type of resource: the property that names it, and what Ref and its attributes are. */
const identities: Record<
  string,
  { by?: string; is(name: string, of: (property: string) => unknown): Record<string, string> }
> = {
  'AWS::SQS::Queue': {
    by: 'QueueName',
    is: (name) => ({ Ref: `https://sqs.${region}.amazonaws.com/${account}/${name}`, Arn: arn('sqs', name) }),
  },
  'AWS::DynamoDB::Table': {
    by: 'TableName',
    is: (name) => ({ Ref: name, Arn: arn('dynamodb', `table/${name}`) }),
  },
  // Secrets Manager puts a hyphen and six characters behind a secret's name.
  'AWS::SecretsManager::Secret': {
    by: 'Name',
    is: (name) => ({ Ref: arn('secretsmanager', `secret:${name}-AbCdEf`) }),
  },
  'AWS::S3::Bucket': { by: 'BucketName', is: (name) => ({ Ref: name, Arn: arn('s3', name, ':') }) },
  'AWS::SNS::Topic': { by: 'TopicName', is: (name) => ({ Ref: arn('sns', name), Arn: arn('sns', name) }) },
  'AWS::Lambda::Function': {
    by: 'FunctionName',
    is: (name) => ({ Ref: name, Arn: arn('lambda', `function:${name}`) }),
  },
  'AWS::CloudWatch::Alarm': { is: (id) => ({ Ref: id, Arn: arn('cloudwatch', `alarm:${id}`) }) },
  'AWS::CloudWatch::CompositeAlarm': { is: (id) => ({ Ref: id, Arn: arn('cloudwatch', `alarm:${id}`) }) },
  'AWS::Lambda::Version': { is: () => ({ Version: '1' }) },
  'AWS::Lambda::Alias': {
    by: 'Name',
    is: (name, of) => ({ Ref: arn('lambda', `function:${of('FunctionName')}:${name}`) }),
  },
  'AWS::Logs::LogGroup': {
    by: 'LogGroupName',
    is: (name) => ({ Ref: name, Arn: arn('logs', `log-group:${name}:*`) }),
  },
  'AWS::Events::Rule': { by: 'Name', is: (name) => ({ Ref: name, Arn: arn('events', `rule/${name}`) }) },
  'AWS::IAM::Role': { is: (id) => ({ Ref: id, Arn: arn('iam', `role/${id}`, `:${account}`) }) },
};

/** What CloudFormation makes of a template: each of its functions is replaced by what it stands for. */
export function deploy(template: Template) {
  const attributeOf = (id: string, attribute: string): string => {
    const resource = template.Resources[id];
    if (!resource) throw new Error(`There is no resource ${id}`);
    const { by, is } = identities[resource.Type] ?? {};
    // A bucket that is given no name gets one of its own.
    const name = (by && (resolved(resource.Properties?.[by]) as string | undefined)) ?? id;
    const value = is?.(name, (property) => resolved(resource.Properties[property]))[attribute];
    if (value === undefined)
      throw new Error(`What ${attribute} of ${id} (${resource.Type}) is, is not known here`);
    return value;
  };

  const substituted = (text: string): string =>
    text.replace(/\$\{([\w:.]+)\}/g, (_, name: string) => {
      const [id = '', attribute = 'Ref'] = name.split('.');
      return pseudo[name] ?? attributeOf(id, attribute);
    });

  const called = (name: string, given: unknown): unknown => {
    if (name === 'Ref') return pseudo[given as string] ?? attributeOf(given as string, 'Ref');
    if (name === 'Fn::GetAtt') return attributeOf(...(given as [string, string]));
    if (name === 'Fn::Sub') return substituted(given as string);
    if (name === 'Fn::Join') {
      const [separator, parts] = given as [string, unknown[]];
      return parts.map(resolved).join(separator);
    }
    throw new Error(`${name} is not known here`);
  };

  function resolved(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolved);
    if (typeof value !== 'object' || value === null) return value;
    const [[name, given] = ['', undefined], ...others] = Object.entries(value);
    if (others.length === 0 && (name === 'Ref' || name.startsWith('Fn::'))) return called(name, given);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolved(each)]));
  }

  const known = new Map<string, (Properties & { id: string })[]>();
  const ofType = (type: string) =>
    Object.entries(template.Resources)
      .filter(([, resource]) => resource.Type === type)
      .map(([id, { Properties }]) => ({ id, ...(resolved(Properties ?? {}) as Properties) }));

  return {
    /** The resources of a type, each with its id among its properties; found once, however often they are asked for. */
    ofType: (type: string): (Properties & { id: string })[] => {
      const found = known.get(type) ?? ofType(type);
      known.set(type, found);
      return found;
    },
    arnOf: (id: string) => attributeOf(id, 'Arn'),
    refOf: (id: string) => attributeOf(id, 'Ref'),
  };
}

export type Deployment = ReturnType<typeof deploy>;

/** All alarms but those made of others, each with the metrics that it watches. */
export const alarmsIn = (deployment: Deployment): Alarm[] =>
  deployment.ofType('AWS::CloudWatch::Alarm').map(({ Metrics, ...alarm }) => {
    if (Metrics === undefined) return { ...alarm, watched: [alarm], alive: undefined };
    const isAlive = ({ Id }: Properties) => Id === 'alive';
    const measured = ({ MetricStat: { Metric, ...how } }: Properties) => ({ ...Metric, ...how });
    const [, ...metrics] = Metrics as [Properties, ...Properties[]];
    const watched = metrics.filter((each) => !isAlive(each)).map(measured);
    return { ...alarm, watched, alive: metrics.filter(isAlive).map(measured)[0] };
  });

type Alarm = Properties & {
  id: string;
  watched: Properties[];
  /** By its starts a schedule that is silent is told from a stage that is new. */
  alive: Properties | undefined;
};
