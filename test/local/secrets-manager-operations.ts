import { randomBytes, randomUUID } from 'node:crypto';

type Value = { SecretString?: string | undefined; SecretBinary?: string | undefined };
type Tag = { Key: string; Value: string };
type Version = { id: string; value: Value; createdDate: number; stages: Set<string> };
type Secret = {
  name: string;
  arn: string;
  /** Rises from secret to secret: a page of ListSecrets ends at one, whatever is created or deleted meanwhile. */
  number: number;
  description: string | undefined;
  tags: Tag[];
  createdDate: number;
  changedDate: number;
  accessedDate: number | undefined;
  /** Set while a deletion is scheduled. */
  deletionDate: number | undefined;
  versions: Map<string, Version>;
};
export type Store = { secrets: Map<string, Secret>; created: number; region: string };
export type Input = Value & {
  Name?: string;
  SecretId?: string;
  ClientRequestToken?: string;
  Description?: string;
  Tags?: Tag[];
  VersionId?: string;
  VersionStage?: string;
  VersionStages?: string[];
  MoveToVersionId?: string;
  RemoveFromVersionId?: string;
  Filters?: { Key: string; Values: string[] }[];
  IncludePlannedDeletion?: boolean;
  MaxResults?: number;
  NextToken?: string;
  SortOrder?: 'asc' | 'desc';
  ForceDeleteWithoutRecovery?: boolean;
  RecoveryWindowInDays?: number;
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
  RestoreSecret,
} satisfies Record<string, (store: Store, input: Input) => object>;

/** By its name, its ARN, or its ARN without the six random characters. */
export function findSecret({ secrets }: Store, secretId: string | undefined): Secret | undefined {
  const byArn = ({ arn }: Secret) => arn === secretId || arn.slice(0, -'-123456'.length) === secretId;
  return secrets.get(secretId ?? '') ?? [...secrets.values()].find(byArn);
}

function CreateSecret(store: Store, input: Input) {
  const { Name: name = '' } = input;
  const token = versionToken(input);
  const valued = hasValue(input);
  if (!/^[\w/+=.@!-]{1,512}$/.test(name)) {
    throw new Refusal(
      'ValidationException',
      'Invalid name. It must be 1 to 512 of these characters: A-Z a-z 0-9 -/_+=.@!',
    );
  }
  const existing = store.secrets.get(name);
  if (existing?.deletionDate !== undefined) {
    throw invalidRequest(`A secret named ${name} is scheduled for deletion: restore it, or wait.`);
  }
  const same = existing?.versions.get(token);
  if (existing && !(same && equal(same.value, input))) {
    throw new Refusal('ResourceExistsException', `There is a secret named ${name} already.`);
  }
  const secret = existing ?? addSecret(store, name, input);
  if (existing || !valued) return { ...identity(secret), VersionId: same?.id };
  return { ...identity(secret), VersionId: addVersion(secret, token, input).id };
}

function GetSecretValue(store: Store, { SecretId, VersionId, VersionStage }: Input) {
  const secret = liveSecret(store, SecretId);
  const stage = VersionStage ?? (VersionId === undefined ? 'AWSCURRENT' : undefined);
  const version = VersionId === undefined ? holderOf(secret, stage) : secret.versions.get(VersionId);
  if (!version) {
    const sought = VersionId === undefined ? `staging label: ${stage}` : `VersionId: ${VersionId}`;
    throw notFound(`The secret has no value for ${sought}`);
  }
  if (stage !== undefined && !version.stages.has(stage)) {
    throw invalidRequest(`Version ${version.id} does not have the staging label ${stage}.`);
  }
  secret.accessedDate = now();
  return {
    ...identity(secret),
    VersionId: version.id,
    ...version.value,
    VersionStages: [...version.stages],
    CreatedDate: version.createdDate,
  };
}

function PutSecretValue(store: Store, input: Input) {
  const { VersionStages: stages = ['AWSCURRENT'] } = input;
  const token = versionToken(input);
  const secret = liveSecret(store, input.SecretId);
  if (!hasValue(input)) throw invalidRequest('A SecretString or a SecretBinary is needed.');
  if (stages.length === 0) throw invalidParameter('VersionStages must name at least one staging label.');
  const existing = secret.versions.get(token);
  if (existing && !equal(existing.value, input)) {
    throw new Refusal('ResourceExistsException', `ClientRequestToken ${token} belongs to another value.`);
  }
  const version = existing ?? addVersion(secret, token, input, stages);
  return { ...identity(secret), VersionId: version.id, VersionStages: [...version.stages] };
}

function UpdateSecretVersionStage(store: Store, input: Input) {
  const { VersionStage: stage = '', MoveToVersionId: to, RemoveFromVersionId: from } = input;
  const secret = liveSecret(store, input.SecretId);
  const holder = holderOf(secret, stage);
  const target = to === undefined ? undefined : secret.versions.get(to);
  if (to !== undefined && !target) throw notFound(`The secret has no version ${to}.`);
  if (holder && holder !== target && from !== holder.id) {
    throw invalidParameter(
      `Staging label ${stage} is on version ${holder.id}: RemoveFromVersionId must name that version.`,
    );
  }
  if (from !== undefined && from !== holder?.id) {
    throw invalidParameter(`Staging label ${stage} is not attached to version ${from}.`);
  }
  if (!target && stage === 'AWSCURRENT') {
    throw invalidParameter('AWSCURRENT can be moved, not removed.');
  }
  if (!target && !from) throw invalidParameter('Either MoveToVersionId or RemoveFromVersionId is needed.');
  if (target) attach(secret, stage, target);
  else holder?.stages.delete(stage);
  secret.changedDate = now();
  return identity(secret);
}

function DescribeSecret(store: Store, { SecretId }: Input) {
  return description(anySecret(store, SecretId));
}

function ListSecrets({ secrets }: Store, input: Input) {
  const { Filters = [], MaxResults = 100, NextToken, SortOrder = 'asc' } = input;
  if (MaxResults < 1 || MaxResults > 100)
    throw new Refusal('ValidationException', 'MaxResults must be between 1 and 100.');
  const unknown = Filters.find(({ Key }) => Key !== 'name');
  if (unknown) throw invalidParameter(`Only the filter "name" is known here, not "${unknown.Key}".`);
  const direction = SortOrder === 'desc' ? -1 : 1;
  const after = NextToken === undefined ? Number.NEGATIVE_INFINITY : pageEnd(NextToken);
  const left = [...secrets.values()]
    .filter(({ deletionDate }) => input.IncludePlannedDeletion || deletionDate === undefined)
    .filter(({ name }) => Filters.every(({ Values }) => Values.some((value) => nameMatches(name, value))))
    .toSorted((one, other) => (one.number - other.number) * direction)
    .filter(({ number }) => number * direction > after);
  const page = left.slice(0, MaxResults);
  const last = page.at(-1);
  const token = left.length > page.length && last ? btoa(`after ${last.number * direction}`) : undefined;
  return { SecretList: page.map(listed), NextToken: token };
}

function DeleteSecret(store: Store, input: Input) {
  const { SecretId = '', ForceDeleteWithoutRecovery: force = false, RecoveryWindowInDays: days = 30 } = input;
  if (force && input.RecoveryWindowInDays !== undefined) {
    throw invalidParameter('ForceDeleteWithoutRecovery and RecoveryWindowInDays exclude each other.');
  }
  if (days < 7 || days > 30) throw invalidParameter('RecoveryWindowInDays must be from 7 to 30.');
  // A forced deletion of a secret that is not there succeeds, as AWS documents.
  const missing = force && !findSecret(store, SecretId);
  if (missing) return { ARN: arnOf(store, SecretId), Name: SecretId, DeletionDate: now() };
  const secret = force ? anySecret(store, SecretId) : liveSecret(store, SecretId);
  if (force) store.secrets.delete(secret.name);
  else secret.deletionDate = now() + days * 86_400;
  return { ...identity(secret), DeletionDate: secret.deletionDate ?? now() };
}

function RestoreSecret(store: Store, { SecretId }: Input) {
  const secret = anySecret(store, SecretId);
  secret.deletionDate = undefined;
  return identity(secret);
}

function addSecret(store: Store, name: string, { Description, Tags = [] }: Input): Secret {
  store.created += 1;
  const secret: Secret = {
    name,
    arn: arnOf(store, name),
    number: store.created,
    description: Description,
    tags: Tags,
    createdDate: now(),
    changedDate: now(),
    accessedDate: undefined,
    deletionDate: undefined,
    versions: new Map(),
  };
  store.secrets.set(name, secret);
  return secret;
}

function addVersion(
  secret: Secret,
  id: string,
  { SecretString, SecretBinary }: Value,
  stages = ['AWSCURRENT'],
): Version {
  const version = {
    id,
    value: { SecretString, SecretBinary },
    createdDate: now(),
    stages: new Set<string>(),
  };
  secret.versions.set(id, version);
  for (const stage of stages) attach(secret, stage, version);
  secret.changedDate = now();
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
function versionToken({ ClientRequestToken: token = randomUUID() }: Input): string {
  if (token.length >= 32 && token.length <= 64) return token;
  throw invalidParameter('ClientRequestToken must have 32 to 64 characters.');
}

function holderOf({ versions }: Secret, stage: string | undefined): Version | undefined {
  return [...versions.values()].find(({ stages }) => stage !== undefined && stages.has(stage));
}

function anySecret(store: Store, secretId: string | undefined): Secret {
  const secret = findSecret(store, secretId);
  if (!secret) throw notFound(`There is no secret ${secretId}.`);
  return secret;
}

function liveSecret(store: Store, secretId: string | undefined): Secret {
  const secret = anySecret(store, secretId);
  if (secret.deletionDate === undefined) return secret;
  throw invalidRequest(`The secret ${secret.name} is marked for deletion.`);
}

function identity({ arn, name }: Secret) {
  return { ARN: arn, Name: name };
}

function description(secret: Secret) {
  const labelled = [...secret.versions.values()].filter(({ stages }) => stages.size > 0);
  return {
    ...identity(secret),
    Description: secret.description,
    Tags: secret.tags,
    CreatedDate: secret.createdDate,
    LastChangedDate: secret.changedDate,
    LastAccessedDate: secret.accessedDate,
    DeletedDate: secret.deletionDate,
    VersionIdsToStages: Object.fromEntries(labelled.map(({ id, stages }) => [id, [...stages]])),
  };
}

function listed(secret: Secret) {
  const { VersionIdsToStages, ...rest } = description(secret);
  return { ...rest, SecretVersionsToStages: VersionIdsToStages };
}

function nameMatches(name: string, value: string) {
  return value.startsWith('!') ? !name.startsWith(value.slice(1)) : name.startsWith(value);
}

function pageEnd(token: string): number {
  const [, number] = /^after (-?\d+)$/.exec(Buffer.from(token, 'base64').toString()) ?? [];
  if (number === undefined) throw new Refusal('InvalidNextTokenException', 'Invalid NextToken.');
  return Number(number);
}

function hasValue({ SecretString, SecretBinary }: Value): boolean {
  if (SecretString !== undefined && SecretBinary !== undefined) {
    throw invalidParameter('SecretString and SecretBinary exclude each other.');
  }
  if (
    Buffer.byteLength(SecretString ?? '') > 65_536 ||
    Buffer.byteLength(SecretBinary ?? '', 'base64') > 65_536
  ) {
    throw new Refusal('ValidationException', 'A secret value has at most 65536 bytes.');
  }
  return SecretString !== undefined || SecretBinary !== undefined;
}

function equal(one: Value, other: Value) {
  return one.SecretString === other.SecretString && one.SecretBinary === other.SecretBinary;
}

function arnOf({ region }: Store, name: string) {
  return `arn:aws:secretsmanager:${region}:000000000000:secret:${name}-${randomBytes(3).toString('hex')}`;
}

/** AWS' JSON protocols write times as seconds. */
function now() {
  return Date.now() / 1000;
}

const notFound = (message: string) => new Refusal('ResourceNotFoundException', message);
const invalidRequest = (message: string) => new Refusal('InvalidRequestException', message);
const invalidParameter = (message: string) => new Refusal('InvalidParameterException', message);
