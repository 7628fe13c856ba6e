import { options as allOptions } from '../../options.ts';
import type { FunctionModule } from '../function-modules.ts';
import { callingNames, functionNames, integrationNames } from '../function-names.ts';
import { alarmResources } from './alarms.ts';
import { functionParts } from './all-function-parts.ts';
import { arnOf, itemsOf, logGroupOf, queueOf, type Resources, ref } from './cloudformation.ts';
import { dashboard } from './dashboard.ts';
import type { DeclaredRights } from './function-rights.ts';
import type { FunctionParts } from './functions/function-parts.ts';
import { people } from './people.ts';
import { roleResources } from './roles.ts';
import { compositeAlarms, expectationAlarms, stageAlarms } from './stage-alarms.ts';
import { stageMetrics } from './stage-metrics.ts';
import type { TemplateOptions } from './stage-settings.ts';
import { storageResources } from './storage.ts';

/** A function's entry in serverless.yml. */
export type Stanza = {
  handler?: string;
  role?: string;
  durableConfig?: object;
  reservedConcurrency?: number;
  environment?: FunctionEnvironment;
  events?: { sqs?: Record<string, unknown>; schedule?: Record<string, unknown> }[];
};

/** Values that serverless.yml passes on. */
export type Custom = {
  options: TemplateOptions;
  /** How Lambda takes messages from a queue: for functions that open files, and for all others. */
  mappings: { messages: Record<string, unknown>; files: Record<string, unknown> };
  /** What all functions read from their environment, and what single ones read besides. */
  environments: { all: FunctionEnvironment; own: Record<string, FunctionEnvironment> };
};

/** Addresses of what the stack makes are known to CloudFormation alone. */
export type FunctionEnvironment = Record<string, unknown>;

/**
 * Removes the functions that are off, adds to each of the others what follows from its code, and makes the other resources.
 * @throws Error naming a function that serverless.yml or functions/ lacks.
 */
export const createTemplate = async (
  functions: Record<string, Stanza>,
  { options, mappings }: Custom,
  shared: { Outputs: object },
) => {
  const found = await loadDeclared(functions);
  checkNames(Object.keys(functions), found, functionParts);
  const off = itemsOf(options.off);
  for (const name of off) delete functions[name];
  const declared = found.filter(({ name }) => !off.includes(name));
  const { stage } = options;
  for (const { name, integration } of declared) {
    const stanza = functions[name] ?? {};
    stanza.events = (stanza.events ?? []).map(({ schedule = {} }) => ({
      schedule: {
        method: 'scheduler',
        roleArn: arnOf('SchedulerRole'),
        name: `sis-relay-${stage}-${name}`,
        ...schedule,
      },
    }));
    if (!integration) continue;
    const { files, messages } = mappings;
    stanza.events.push({ sqs: { arn: arnOf(queueOf(name)), ...(integration.files ? files : messages) } });
    stanza.environment = { ...stanza.environment, QUEUE_URL: ref(queueOf(name)) };
    if (integration.effect) stanza.environment.LEDGER_KEY_SECRET = ref('LedgerKey');
  }
  const namesOf = (isOfThem: (each: DeclaredRights) => boolean): string[] =>
    Object.keys(functions).filter((name) => declared.some((each) => each.name === name && isOfThem(each)));
  const names = {
    all: Object.keys(functions),
    queued: namesOf(({ integration }) => integration !== undefined),
    durable: namesOf((each) => each.durable),
    // ConnectionFails is also the alarm about the silence of connection-check.
    polling: namesOf(({ scheduled, durable, name }) => scheduled && !durable && name !== 'connection-check'),
  };
  const parts = functionParts.filter((part) => names.all.includes(part.function));
  const receivers = allOptions.filter(
    (each) => each.receivesFiles && each.functions.every((name) => names.all.includes(name)),
  );
  const metrics = stageMetrics(stage);
  const alarms = {
    ...stageAlarms(names, metrics),
    ...expectationAlarms(options.expected, metrics, {
      queued: names.queued,
      receivers: receivers.map(({ name }) => name),
    }),
    ...Object.fromEntries(parts.flatMap((part) => Object.entries(part.alarms(metrics)))),
  };
  const composites = compositeAlarms(alarms);
  const Resources: Resources = {
    ...storageResources(options, names.queued),
    ...Object.assign({}, ...parts.map(({ resources }) => resources?.(stage))),
    ...roleResources(options, declared, { parts, people }),
    ...alarmResources(options, alarms, composites),
    Dashboard: dashboard(options, { names, alarms: [...Object.keys(alarms), ...Object.keys(composites)] }),
  };
  const urls = names.queued.map((name) => [`${queueOf(name)}Url`, { Value: ref(queueOf(name)) }]);
  return {
    Resources,
    Outputs: { ...Object.fromEntries(urls), ...shared.Outputs },
    extensions: logKeys(options, names.all),
  };
};

/** What osls adds to the log groups that it makes. */
const logKeys = ({ kmsKeyArn, kmsKeyForLogs }: TemplateOptions, names: string[]): Record<string, object> => {
  const Properties = { KmsKeyId: kmsKeyArn };
  const isAdded = kmsKeyForLogs && kmsKeyArn !== '';
  return isAdded ? Object.fromEntries(names.map((name) => [logGroupOf(name), { Properties }])) : {};
};

/** Loads the integrations. Loading the other functions would take as long again; their source shows what is needed. */
const loadDeclared = async (functions: Record<string, Stanza>): Promise<DeclaredRights[]> => {
  const [queued, calling] = [new Set(integrationNames()), new Set(callingNames())];
  const declared = functionNames().map(async (name): Promise<DeclaredRights> => {
    const { durableConfig, events = [] } = functions[name] ?? {};
    const given = {
      name,
      durable: durableConfig !== undefined,
      scheduled: events.some((each) => each.schedule),
    };
    if (!queued.has(name)) return { ...given, calls: calling.has(name), integration: undefined };
    const { integration }: FunctionModule = await import(`../../../functions/${name}.ts`);
    return { ...given, calls: integration?.operations.length !== 0, integration };
  });
  return Promise.all(declared);
};

/** @throws Error naming the missing functions. */
export const checkNames = (
  names: string[],
  declared: { name: string }[],
  parts: readonly Pick<FunctionParts, 'function'>[] = [],
): void => {
  const problems = [
    ...declared
      .filter(({ name }) => !names.includes(name))
      .map(({ name }) => `functions/${name}.ts has no entry under functions: in serverless.yml`),
    ...names
      .filter((name) => !declared.some((each) => each.name === name))
      .map((name) => `${name} in serverless.yml has no file functions/${name}.ts`),
    ...parts
      .filter((part) => !declared.some((each) => each.name === part.function))
      .map((part) => `template.ts lists parts of ${part.function}, which has no file in functions/`),
  ];
  if (problems.length > 0) throw new Error(problems.join('; '));
};
