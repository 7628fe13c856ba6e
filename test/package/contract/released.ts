import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import * as z from 'zod';
import { failureSchema } from '../../../lib/delivery/letters/dead-letter.ts';
import { attributeNames } from '../../../lib/delivery/letters/letter-attributes.ts';
import { exitCodes } from '../../../lib/desk/cli/cli.ts';
import { letterKinds } from '../../../lib/message/failure-kinds.ts';
import { metricDefinitions } from '../../../lib/runtime/telemetry/metrics.ts';
import { parameters } from '../../../lib/stage/template/all-settings.ts';
import { quietProgram } from '../../lib/desk/cli/typed.ts';
import { deploy, type Properties, type Template } from '../cloudformation.ts';
import { contracts } from './contract.ts';
import { releases as folder, lastVersion } from './releases.ts';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** What others depend on, by section. */
export type Released = { [Section in Exclude<keyof typeof harms, keyof typeof observed>]: Json };

/** What no declaration tells: it is observed, by the tests named here, and kept in files of its own. */
const observed = { json: 'json.json', formats: 'formats.json' };

/** What a change of each section would do, and what to do in its place. */
const harms = {
  stored:
    'CloudFormation would replace it, or leave it behind with all that it holds. Keep its logical id, name and keys, and put what is new beside it',
  functions: 'Operators and scripts invoke it by this name. Keep the name and its alias',
  files: 'Producers put files there, and operators and scripts read them. Go on reading and writing there',
  outputs: 'Producers and scripts read it from the stack. Go on writing it',
  policies: 'Whoever it was attached to would lose their rights. Keep its logical id',
  settings: 'Files of stages have it. Go on reading it, or list it among those that are retired',
  secrets: 'Operators have created secrets of this name. Go on reading them',
  messages:
    'Producers send messages of this form, and letters hold them. Go on accepting it, or give the new form a type of its own, as in sis.<name>.v2',
  letters:
    'Letters with it lie in the queue while a stage is upgraded or set back. Go on writing and reading it',
  metrics: 'Alarms and dashboards of the university read it. Go on publishing it',
  alarms: 'Whoever it calls, and what reads it, knows it by this name. Keep the name',
  commands: 'Scripts call the command so. Go on accepting it',
  exitCodes: 'Scripts decide by it. Keep its meaning',
  json: 'Scripts read it. Go on printing it',
  formats: 'The last release reads it after a step back, and has written it. Go on writing and reading it',
};

const root = resolve(import.meta.dirname, '../../..');

/** What others depend on in the working tree. */
export async function releasedFrom(template: Template): Promise<Released> {
  const messages = (await contracts()).map(({ type, schema }) => [type, withoutWords(schema as Json)]);
  const alarms = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm']
    .flatMap(deploy(template).ofType)
    // CloudFormation names most of them, by their ids.
    .map(({ id, AlarmName = id }) => anyStage(AlarmName))
    // Of what the stage expects: others have others.
    .filter((name) => !name.startsWith('NothingArrives'))
    .sort();
  const metrics = Object.entries(metricDefinitions).map(([name, { unit, dimensions }]) => [
    name,
    { unit, dimensions: dimensions.map((each) => each.join(', ')) },
  ]);
  return {
    stored: storedIn(template),
    functions: functionsIn(template),
    files: filesIn(template),
    outputs: Object.keys(template.Outputs ?? {}).sort(),
    policies: Object.keys(template.Resources)
      .filter((id) => template.Resources[id]?.Type === 'AWS::IAM::ManagedPolicy')
      .sort(),
    settings: settings(),
    secrets: secretsIn(template),
    messages: Object.fromEntries(messages),
    letters: {
      attributes: [...attributeNames],
      kinds: [...letterKinds],
      failure: withoutWords(z.toJSONSchema(failureSchema) as Json),
    },
    metrics: Object.fromEntries(metrics),
    alarms,
    commands: commandsIn(await quietProgram()),
    exitCodes,
  };
}

/** The stage, the account and the region of the packaged template. */
const anyStage = (name: string): string =>
  name
    .replace(/(?<=^sis-relay[-/])local(?=[-/])/, '{stage}')
    .replace('000000000000', '{account}')
    .replace('us-east-1', '{region}');

function storedIn(template: Template): Json {
  const deployment = deploy(template);
  const kinds: Record<string, (properties: Properties) => Record<string, unknown>> = {
    'AWS::SQS::Queue': ({ QueueName, MaximumMessageSize }) => ({
      name: QueueName,
      maximum: MaximumMessageSize,
    }),
    'AWS::DynamoDB::Table': (table) => ({
      name: table.TableName,
      keys: keysOf(table, table.AttributeDefinitions),
      expires: table.TimeToLiveSpecification?.Enabled && table.TimeToLiveSpecification.AttributeName,
      isBackedUp: table.PointInTimeRecoverySpecification?.PointInTimeRecoveryEnabled,
      indexes: Object.fromEntries(
        (table.GlobalSecondaryIndexes ?? []).map((index: Properties) => [
          index.IndexName,
          { keys: keysOf(index, table.AttributeDefinitions), projection: index.Projection.ProjectionType },
        ]),
      ),
    }),
    'AWS::S3::Bucket': ({ BucketName }) => ({ name: BucketName }),
    'AWS::SecretsManager::Secret': ({ Name }) => ({ name: Name }),
  };
  const found = Object.entries(kinds).flatMap(([type, partsOf]) =>
    deployment.ofType(type).map(({ id, ...properties }) => {
      const parts = { type, ...partsOf(properties) };
      const name = 'name' in parts && typeof parts.name === 'string' ? anyStage(parts.name) : undefined;
      const { DeletionPolicy = '', UpdateReplacePolicy } = template.Resources[id] ?? {};
      const isKept = (DeletionPolicy.startsWith('Retain') && UpdateReplacePolicy === 'Retain') || undefined;
      return [id, JSON.parse(JSON.stringify({ ...parts, name, isKept }))];
    }),
  );
  return Object.fromEntries(found);
}

/** What an invocation names: a function, and the alias of a durable one. */
const functionsIn = (template: Template): string[] => {
  const aliases = deploy(template).ofType('AWS::Lambda::Alias');
  return deploy(template)
    .ofType('AWS::Lambda::Function')
    .map(({ FunctionName }) => {
      const alias = aliases.find((each) => each.FunctionName === FunctionName);
      return anyStage(alias ? `${FunctionName}:${alias.Name}` : FunctionName);
    })
    .sort();
};

/** The beginnings of what lies in the bucket. */
const filesIn = (template: Template): string[] =>
  deploy(template)
    .ofType('AWS::S3::Bucket')
    .flatMap(({ LifecycleConfiguration, NotificationConfiguration }) => [
      ...(LifecycleConfiguration?.Rules ?? []).flatMap(({ Prefix }: Properties) => Prefix ?? []),
      ...(NotificationConfiguration?.QueueConfigurations ?? []).flatMap(({ Filter }: Properties) =>
        Filter.S3Key.Rules.map(({ Value }: Properties) => Value),
      ),
    ])
    // The keeping of their own state is no promise of the durable functions.
    .filter((prefix: string) => !prefix.endsWith('/executions/'))
    .concat('snapshot-settings.json')
    .sort();

/** As in `message HASH S`. */
const keysOf = ({ KeySchema }: Properties, attributes: Properties[]): string[] =>
  KeySchema.map(({ AttributeName, KeyType }: Properties) => {
    const { AttributeType } = attributes.find((each) => each.AttributeName === AttributeName) ?? {};
    return `${AttributeName} ${KeyType} ${AttributeType}`;
  });

/** Those that a role may use, by the ends of their names. */
const secretsIn = (template: Template): Json => {
  const named = JSON.stringify(template).matchAll(/:secret:(sis-relay\/[^"?]+?)(?:-\?+)?(?=")/g);
  return [...new Set([...named].map(([, name = '']) => anyStage(name)))].sort();
};

/** By name, with what may be written. */
const settings = (): Json =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, { usual }]) => [
      name,
      typeof usual === 'string' ? 'text' : typeof usual,
    ]),
  );

/** Words are no part of what is depended on. */
const withoutWords = (schema: Json): Json => {
  if (Array.isArray(schema)) return schema.map(withoutWords);
  if (typeof schema !== 'object' || schema === null) return schema;
  const isWord = (name: string, value: Json): boolean =>
    /^(description|title|\$schema)$/.test(name) && typeof value === 'string';
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) =>
      isWord(name, value) ? [] : [[name, withoutWords(value)]],
    ),
  );
};

/** Each command by its words, with its arguments by their places. */
function commandsIn(command: Command, words = command.name()): { [name: string]: Json } {
  const argumentsOf = command.registeredArguments.map((each, at) => ({
    name: `argument ${at + 1}`,
    isRequired: each.required,
    takes: { variadic: each.variadic, choices: each.argChoices, default: each.defaultValue },
  }));
  const options = command.options.map((each) => ({
    name: each.long ?? each.flags,
    isRequired: each.mandatory,
    takes: {
      short: each.short,
      value: each.required ? 'required' : each.optional ? 'optional' : 'none',
      variadic: each.variadic,
      choices: each.argChoices,
      default: each.defaultValue,
    },
  }));
  const all = [...argumentsOf, ...options];
  const own = {
    ...Object.fromEntries(all.map(({ name, takes }) => [name, JSON.parse(JSON.stringify(takes))])),
    required: all.filter(({ isRequired }) => isRequired).map(({ name }) => name),
  };
  return Object.assign(
    { [words]: own },
    ...command.commands.map((each) => commandsIn(each, `${words} ${each.name()}`)),
  );
}

/** `place` is as in `commands › sis-relay publish › --now`. */
export type Difference = { place: string; change: string; isBreaking: boolean };

/** In a schema, what it no longer states lets more pass. */
const constraints = new Set([
  'required',
  'enum',
  'const',
  'pattern',
  'format',
  'allOf',
  'not',
  'additionalProperties',
  'propertyNames',
  'minimum',
  'exclusiveMinimum',
  'minLength',
  'minItems',
  'multipleOf',
  'maximum',
  'exclusiveMaximum',
  'maxLength',
  'maxItems',
]);

const isObject = (value: Json | undefined): value is { [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What differs from the released description; what lets more pass, or is new, breaks nothing. */
export function differences(before: Json, now: Json, path: readonly string[] = []): Difference[] {
  const found = (change: string, isBreaking: boolean, ...names: string[]): Difference => ({
    place: [...path, ...names].join(' › '),
    change,
    isBreaking,
  });
  const name = path.at(-1) ?? '';
  // A field may have the name of a constraint.
  const isSchema = /^(messages|letters)$/.test(path[0] ?? '') && name !== 'properties';
  const isConstraint = (each: string): boolean => isSchema && constraints.has(each);
  if (isObject(before) && isObject(now))
    return [...new Set([...Object.keys(before), ...Object.keys(now)])].flatMap((each) => {
      const [was, is] = [before[each], now[each]];
      if (is === undefined) return [found('is gone', !isConstraint(each), each)];
      // CloudFormation replaces what it has named itself.
      const isName = path[0] === 'stored' && each === 'name';
      if (was === undefined) return [found('is new', isConstraint(each) || isName, each)];
      return differences(was, is, [...path, each]);
    });
  if (Array.isArray(before) && Array.isArray(now)) return listDifferences(before, now, path);
  if (before === now) return [];
  const change = `was ${JSON.stringify(before)} and is ${JSON.stringify(now)}`;
  const [was, is] = [Number(before), Number(now)];
  const isLooser =
    (/^(exclusiveMax|max)/.test(name) && is > was) ||
    (/^(exclusiveMin|min)/.test(name) && is < was) ||
    (name === 'additionalProperties' && before === false);
  return [found(change, !isLooser)];
}

/** Of names, the order is nothing; what is required may become less. */
const listDifferences = (before: Json[], now: Json[], path: readonly string[]): Difference[] => {
  const [place, isRequired] = [path.join(' › '), path.at(-1) === 'required'];
  if ([...before, ...now].some(isObject))
    return Array.from({ length: Math.max(before.length, now.length) }, (_, at) => at).flatMap((at) => {
      const [was, is] = [before[at], now[at]];
      const isChoice = /^(anyOf|oneOf)$/.test(path.at(-1) ?? '');
      if (was === undefined) return [{ place: `${place} › ${at}`, change: 'is new', isBreaking: !isChoice }];
      if (is === undefined) return [{ place: `${place} › ${at}`, change: 'is gone', isBreaking: true }];
      return differences(was, is, [...path, String(at)]);
    });
  const only = (these: Json[], those: Json[]): string[] =>
    these.filter((each) => !those.includes(each)).map(String);
  return [
    ...only(before, now).map((each) => ({
      place: `${place} › ${each}`,
      change: 'is gone',
      isBreaking: !isRequired,
    })),
    ...only(now, before).map((each) => ({
      place: `${place} › ${each}`,
      change: 'is new',
      isBreaking: isRequired,
    })),
  ];
};

/** Names what breaks, whom, and the remedy. */
export const sentenceFor = ({ place, change }: Difference): string => {
  const [section = ''] = place.split(' › ');
  return `${place} ${change}. ${harms[section as keyof typeof harms]}. If it must be: raise the major version, and write in test/package/released/breaking.json what an upgrade must do.`;
};

/** Whether a version may add what others depend on. */
export const isMinor = (before: string, now: string): boolean =>
  isMajor(before, now) || Number(now.split('.')[1]) > Number(before.split('.')[1]);

/** Whether a change may break what depends on it; before 1.0.0 the second number says so. */
export const isMajor = (before: string, now: string): boolean => {
  const [a = [], b = []] = [before, now].map((each) => each.split('.').map(Number));
  return a[0] === 0 && b[0] === 0 ? (b[1] ?? 0) > (a[1] ?? 0) : (b[0] ?? 0) > (a[0] ?? 0);
};

/** That of the working tree, or of the release that is being made. */
export const version = (): string =>
  process.env.RELEASE ?? JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;

/** The newest description that is kept. */
export const lastReleased = (): { version: string; released: Released } => {
  const last = lastVersion();
  return { version: last, released: JSON.parse(readFileSync(join(folder, last, 'contract.json'), 'utf8')) };
};

/** By the place of a difference that breaks something: what an upgrade must do. */
export const declared = (): Record<string, string> =>
  JSON.parse(readFileSync(join(folder, 'breaking.json'), 'utf8'));

/** `npm run freeze` */
export const freeze = (released: Released): void => keep('contract.json', released);

const keep = (name: string, json: object): void => {
  mkdirSync(join(folder, version()), { recursive: true });
  writeFileSync(join(folder, version(), name), `${JSON.stringify(json, null, 2)}\n`);
};

/**
 * Sentences on what was observed of the last release, and is not observed or is another now, unless it is declared; with FREEZE, it is
 * what the release promises. `isPart`: only of what has the names of `now`, and the rest is observed by other tests.
 */
export const brokenBy = (
  section: keyof typeof observed,
  now: { [name: string]: Json },
  { isPart = false } = {},
): string[] => {
  const name = observed[section];
  if (process.env.FREEZE !== undefined)
    keep(name, { [section]: isPart ? { ...observedOf(section, version()), ...now } : now });
  const before = observedOf(section, lastVersion());
  const compared = isPart
    ? Object.fromEntries(Object.entries(before).filter(([each]) => each in now))
    : before;
  return differences(compared, now, [section])
    .filter(({ isBreaking, place }) => isBreaking && declared()[place] === undefined)
    .map(sentenceFor);
};

/** What was observed of a version; of one that kept nothing, nothing. */
export const observedOf = (
  section: keyof typeof observed,
  version = lastVersion(),
): { [name: string]: Json } => {
  const file = join(folder, version, observed[section]);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8'))[section] : {};
};
