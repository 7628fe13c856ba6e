import { randomBytes, randomUUID } from 'node:crypto';

type Version = { id: string; value: string; createdDate: number; stages: Set<string> };
type Secret = {
  name: string;
  arn: string;
  /** Set while a deletion is scheduled. */
  deletionDate: number | undefined;
  versions: Map<string, Version>;
};
export type Store = { secrets: Map<string, Secret>; region: string };
export type Input = {
  Name?: string;
  SecretId?: string;
  SecretString?: string;
  ClientRequestToken?: string;
  VersionId?: string;
  VersionStage?: string;
  VersionStages?: string[];
  MoveToVersionId?: string;
  RemoveFromVersionId?: string;
  Filters?: { Key: 'name'; Values: string[] }[];
  MaxResults?: number;
  NextToken?: string;
  ForceDeleteWithoutRecovery?: boolean;
};

/** An answer that is an error of this type. */
export class Refusal extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

export const operations = {
  CreateSecret,
  GetSecretValue,
  PutSecretValue,
  UpdateSecretVersionStage,
  DescribeSecret,
  ListSecrets,
  DeleteSecret,
} satisfies Record<string, (store: Store, input: Input) => object>;

/** By its name or its ARN. */
export function findSecret({ secrets }: Store, secretId = ''): Secret | undefined {
  return secrets.get(secretId) ?? [...secrets.values()].find(({ arn }) => arn === secretId);
}

function CreateSecret(store: Store, { Name: name = '', SecretString, ...input }: Input) {
  if (store.secrets.has(name)) throw exists(`There is a secret named ${name} already.`);
  const random = randomBytes(3).toString('hex');
  const arn = `arn:aws:secretsmanager:${store.region}:000000000000:secret:${name}-${random}`;
  const secret: Secret = { name, arn, deletionDate: undefined, versions: new Map() };
  store.secrets.set(name, secret);
  if (SecretString === undefined) return identity(secret);
  return { ...identity(secret), VersionId: addVersion(secret, tokenOf(input), SecretString).id };
}

function GetSecretValue(store: Store, { SecretId, VersionId, VersionStage }: Input) {
  const secret = liveSecret(store, SecretId);
  const stage = VersionStage ?? 'AWSCURRENT';
  const version = VersionId === undefined ? holderOf(secret, stage) : secret.versions.get(VersionId);
  if (!version) throw notFound(`The secret has no value for ${VersionId ?? `staging label: ${stage}`}`);
  const { id, value, stages, createdDate } = version;
  const shown = { VersionId: id, SecretString: value, VersionStages: [...stages], CreatedDate: createdDate };
  return { ...identity(secret), ...shown };
}

function PutSecretValue(store: Store, { SecretString = '', VersionStages, ...input }: Input) {
  const secret = liveSecret(store, input.SecretId);
  const token = tokenOf(input);
  const existing = secret.versions.get(token);
  if (existing && existing.value !== SecretString)
    throw exists(`ClientRequestToken ${token} belongs to another value.`);
  const version = existing ?? addVersion(secret, token, SecretString, VersionStages);
  return { ...identity(secret), VersionId: version.id, VersionStages: [...version.stages] };
}

function UpdateSecretVersionStage(store: Store, input: Input) {
  const { VersionStage: stage = '', MoveToVersionId: to = '', RemoveFromVersionId: from } = input;
  const secret = liveSecret(store, input.SecretId);
  const holder = holderOf(secret, stage);
  const target = secret.versions.get(to);
  if (!target) throw notFound(`The secret has no version ${to}.`);
  // It must be named where the label is, unless it is there already.
  if (from !== holder?.id && !(holder === target && from === undefined))
    throw invalid('Parameter', `Staging label ${stage} is on version ${holder?.id}, not on ${from}.`);
  attach(secret, stage, target);
  return identity(secret);
}

function DescribeSecret(store: Store, { SecretId }: Input) {
  const secret = anySecret(store, SecretId);
  const VersionIdsToStages = stagesOf(secret);
  const LastChangedDate = Math.max(...[...secret.versions.values()].map(({ createdDate }) => createdDate));
  return { ...identity(secret), DeletedDate: secret.deletionDate, LastChangedDate, VersionIdsToStages };
}

/** A page ends at a name: it goes on there, whatever is created or deleted meanwhile. */
function ListSecrets({ secrets }: Store, { Filters = [], MaxResults = 100, NextToken = '' }: Input) {
  const left = [...secrets.values()]
    .filter(({ name, deletionDate }) => name > NextToken && deletionDate === undefined)
    .filter(({ name }) => Filters.every(({ Values }) => Values.some((value) => name.startsWith(value))))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const page = left.slice(0, MaxResults);
  return {
    SecretList: page.map((secret) => ({ ...identity(secret), SecretVersionsToStages: stagesOf(secret) })),
    NextToken: left.length > page.length ? page.at(-1)?.name : undefined,
  };
}

function DeleteSecret(store: Store, { SecretId, ForceDeleteWithoutRecovery: force = false }: Input) {
  const secret = anySecret(store, SecretId);
  if (force) store.secrets.delete(secret.name);
  else secret.deletionDate = now() + 30 * 86_400;
  return { ...identity(secret), DeletionDate: secret.deletionDate ?? now() };
}

function addVersion(secret: Secret, id: string, value: string, stages = ['AWSCURRENT']): Version {
  const version = { id, value, createdDate: now(), stages: new Set<string>() };
  secret.versions.set(id, version);
  for (const stage of stages) attach(secret, stage, version);
  return version;
}

/** A label is on one version at a time, and the version that AWSCURRENT leaves becomes AWSPREVIOUS. */
function attach(secret: Secret, stage: string, version: Version) {
  const holder = holderOf(secret, stage);
  if (holder === version) return;
  holder?.stages.delete(stage);
  version.stages.add(stage);
  if (holder && stage === 'AWSCURRENT') attach(secret, 'AWSPREVIOUS', holder);
}

/** The SDK sends a token of its own where the caller gives none, so that its retries make no second version. */
function tokenOf({ ClientRequestToken: token = randomUUID() }: Input): string {
  if (token.length >= 32 && token.length <= 64) return token;
  throw invalid('Parameter', 'ClientRequestToken must have 32 to 64 characters.');
}

function holderOf({ versions }: Secret, stage: string): Version | undefined {
  return [...versions.values()].find(({ stages }) => stages.has(stage));
}

function anySecret(store: Store, secretId: string | undefined): Secret {
  const secret = findSecret(store, secretId);
  if (!secret) throw notFound(`There is no secret ${secretId}.`);
  return secret;
}

function liveSecret(store: Store, secretId: string | undefined): Secret {
  const secret = anySecret(store, secretId);
  if (secret.deletionDate === undefined) return secret;
  throw invalid('Request', `The secret ${secret.name} is marked for deletion.`);
}

function identity({ arn, name }: Secret) {
  return { ARN: arn, Name: name };
}

function stagesOf({ versions }: Secret) {
  const labelled = [...versions.values()].filter(({ stages }) => stages.size > 0);
  return Object.fromEntries(labelled.map(({ id, stages }) => [id, [...stages]]));
}

/** AWS' JSON protocols write times as seconds. */
function now() {
  return Date.now() / 1000;
}

const notFound = (message: string) => new Refusal('ResourceNotFoundException', message);
const exists = (message: string) => new Refusal('ResourceExistsException', message);
const invalid = (what: 'Parameter' | 'Request', message: string) =>
  new Refusal(`Invalid${what}Exception`, message);
