import * as z from 'zod';
import type { Integration } from '../../../delivery/handle/integration.ts';
import { sisFields } from '../../../message/sis-ids.ts';
import {
  arnOf,
  document,
  functionIdOf,
  idOf,
  itemsOf,
  type Options,
  ofThisAccount,
  queueOf,
  type Resource,
  type Resources,
  ref,
  type Statement,
  sub,
} from './cloudformation.ts';

/** A file of functions/, by its declarations. */
export type Declared = {
  name: string;
  /** Whether it calls the platform. */
  calls: boolean;
  /** Whether it is a Lambda durable function. */
  durable: boolean;
  scheduled: boolean;
  /** Undefined: no queue triggers it. */
  integration: Integration<unknown> | undefined;
};

type Row = string | Statement;
/** From template/rights.yml. */
export type Rights = {
  functions: Record<string, Row[]>;
  people: Record<string, { may: string; rights: Row[] }>;
};

/** A role for each function, one by which schedules start functions, and policies for people. */
export const roleResources = (
  options: Options,
  { functions, people }: Rights,
  { declared, all }: { declared: Declared[]; all: string[] },
): Resources => {
  // A durable function is called by its alias, and all others by their name.
  const started = declared
    .filter(({ scheduled }) => scheduled)
    .map(({ name, durable }) => `lambda InvokeFunction on ${durable ? `${name}:durable` : name}`);
  const roles = declared.map((each): [string, Resource] => {
    const isOf = kindsOf(options, each, all);
    const rows = Object.entries(functions).flatMap(([kind, rows]) => {
      if (!(kind in isOf)) throw new Error(`rights.yml has rights of ${kind}, which is no function`);
      return isOf[kind] ? rows : [];
    });
    const rights = statementsOf(options, rows, valuesOf(options, each, declared));
    return [roleOf(each.name), role(options, 'lambda.amazonaws.com', { name: each.name, rights })];
  });
  const policies = Object.entries(people).map(([id, { may, rights }]): [string, Resource] => {
    const PolicyDocument = document(statementsOf(options, rights, valuesOfPeople(options, declared)));
    const Roles = rolesWith(id, options);
    const Properties = { Description: may, PolicyDocument, ...(Roles.length > 0 && { Roles }) };
    return [id, { Type: 'AWS::IAM::ManagedPolicy', Properties }];
  });
  return {
    ...Object.fromEntries(roles),
    SchedulerRole: role(options, 'scheduler.amazonaws.com', {
      ...{ name: 'start', rights: statementsOf(options, started, {}), Condition: ofThisAccount },
    }),
    ...Object.fromEntries(policies),
  };
};

/** Who operates also reads, and who leads does both. */
const rolesWith = (policy: string, { readers, operators, leads }: Options): string[] => {
  const holders: Record<string, string[]> = {
    ...{ Readers: [readers, operators, leads], Operators: [operators, leads], Leads: [leads] },
  };
  return [...new Set((holders[policy] ?? []).flatMap(itemsOf))];
};

export const roleOf = (name: string): string => `${idOf(name)}Role`;

/**
 * One policy for all rights. Its name differs from those of the separate policies of earlier versions: CloudFormation deletes these by
 * name after it has written the role.
 */
const role = (
  { permissionsBoundary }: Options,
  Service: string,
  { name, rights, ...more }: { name: string; rights: Statement[] } & Pick<Statement, 'Condition'>,
): Resource => ({
  Type: 'AWS::IAM::Role',
  Properties: {
    AssumeRolePolicyDocument: document([
      { Effect: 'Allow', Principal: { Service }, Action: 'sts:AssumeRole', ...more },
    ]),
    Policies: [{ PolicyName: name, PolicyDocument: document(rights) }],
    ...(permissionsBoundary !== '' && { PermissionsBoundary: permissionsBoundary }),
  },
});

/** The keys of template/rights.yml, and whether a function is what they say. */
const kindsOf = (
  options: Options,
  { name, calls, durable, integration }: Declared,
  all: string[],
): Record<string, unknown> => ({
  each: true,
  traced: options.tracing === 'Active',
  inVpc: options.subnetIds !== '',
  encrypted: true,
  callsThePlatform: calls,
  durable,
  durableAndCallsThePlatform: durable && calls,
  queued: integration,
  opensFiles: integration?.files,
  readsSecrets: integration?.secrets,
  keepsDigests: integration?.effect,
  takesSisIds: integration && takesSisIds(integration),
  ...Object.fromEntries(all.map((each) => [each, each === name])),
});

/** Whether messages may use the SIS' own ids. */
const takesSisIds = ({ data }: Integration<unknown>): boolean => {
  const schema = JSON.stringify(z.toJSONSchema(data, { io: 'input', unrepresentable: 'any' }));
  return sisFields.some(([platformField]) => schema.includes(`"${platformField}":`));
};

type Values = Record<string, readonly string[]>;

const valuesOfPeople = (options: Options, all: Declared[]): Values => ({
  key: [options.kmsKeyArn],
  queues: all.flatMap(({ integration }) => (integration ? queueOf(integration.name) : [])),
});

const valuesOf = (options: Options, { name, integration }: Declared, all: Declared[]): Values => {
  const integrations = all.flatMap((each) => each.integration ?? []);
  const compared = integrations.filter(({ effect }) => effect);
  return {
    ...{ ...valuesOfPeople(options, all), name: [name], queue: [queueOf(name)] },
    signer: [integration?.actor ? 'users/*' : 'service-??????'],
    changes: integration?.changes ?? [],
    secrets: [integration?.secrets ?? ''],
    comparedQueues: compared.map((each) => queueOf(each.name)),
    comparedChanges: [...new Set(compared.flatMap(({ changes }) => changes))],
  };
};

/** @throws Error naming a row that cannot be read. */
const statementsOf = (options: Options, rows: Row[], values: Values): Statement[] =>
  rows.flatMap((row) => {
    if (typeof row !== 'string') return [row];
    const [, service = '', actions = '', resources] = /^(\w+) (.+) on (.+)$/.exec(row) ?? [];
    if (resources === undefined)
      throw new Error(`${row} in rights.yml must be: service Actions on resources`);
    const names = resources
      .split(' ')
      .filter((each) => !isOfOff(options, each))
      .map((each) => filledIn(each, values));
    // What is left of a row would be a right with fewer limits.
    if (names.length === 0 || names.some((each) => each.length === 0)) return [];
    const Action = actions.split(' ').map((action) => `${service}:${action}`);
    return [{ Effect: 'Allow', Action, ...limited(options, { service, actions, names: names.flat() }) }];
  });

/** Whether it is a function, or a part of one, that is not deployed. */
const isOfOff = ({ off }: Options, resource: string): boolean =>
  itemsOf(off).some((name) => resource.startsWith(`${name}:`) || resource.startsWith(functionIdOf(name)));

/** The text once for each value of the place in it. */
const filledIn = (text: string, values: Values): string[] => {
  const [place, name = ''] = /\{(\w+)\}/.exec(text) ?? [];
  if (place === undefined) return [text];
  if (!values[name]) throw new Error(`${text} in rights.yml: there is no ${place}`);
  return values[name].filter((value) => value !== '').map((value) => text.replace(place, value));
};

const limited = (
  { stage }: Options,
  { service, actions, names }: { service: string; actions: string; names: string[] },
): Pick<Statement, 'Resource' | 'Condition'> => {
  // Lets S3 tell a missing object from a forbidden one.
  if (actions === 'ListBucket')
    return { Resource: arnOf('Files'), Condition: { StringLike: { 's3:prefix': names } } };
  if (service === 's3') return { Resource: names.map((key) => sub(`\${Files.Arn}/${key}`)) };
  if (service !== 'dynamodb') {
    const [first, ...others] = names.map((name) => resourceOf(stage, service, name));
    return { Resource: others.length === 0 ? first : [first, ...others] };
  }
  const [table = '', ...keys] = names;
  const Condition = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys } };
  return { Resource: resourceOf(stage, service, table), ...(keys.length > 0 && { Condition }) };
};

const resourceOf = (stage: string, service: string, name: string): unknown => {
  const [, id, rest] = /^(\w+)\.Arn(.*)$/.exec(name) ?? [];
  if (id !== undefined) return rest === '' ? arnOf(id) : sub(`\${${id}.Arn}${rest}`);
  if (/^[A-Z]\w+$/.test(name)) return ref(name);
  const beginning = beginnings(stage)[service];
  if (beginning === undefined) return name;
  return sub(`arn:\${AWS::Partition}:${service}:\${AWS::Region}:\${AWS::AccountId}:${beginning}${name}`);
};

/** How the names of a stage begin. */
const beginnings = (stage: string): Record<string, string> => ({
  logs: `log-group:/aws/lambda/sis-relay-${stage}-`,
  lambda: `function:sis-relay-${stage}-`,
  sqs: `sis-relay-${stage}-`,
  secretsmanager: `secret:sis-relay/${stage}/`,
  cloudformation: `stack/sis-relay-${stage}/`,
});
