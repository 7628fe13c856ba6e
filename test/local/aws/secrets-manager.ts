import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { faultList, refusalOf, suffer } from './faults.ts';
import { listening, tellDate } from './listening.ts';

type Version = { id: string; value: string; createdDate: number; stages: Set<string> };
type Secret = {
  name: string;
  arn: string;
  /** Set while a deletion is scheduled. */
  deletionDate: number | undefined;
  versions: Map<string, Version>;
};
type Store = { secrets: Map<string, Secret>; region: string };
type Input = {
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

/**
 * AWS Secrets Manager's JSON protocol on a free port of 127.0.0.1, begun with these secrets, each a text, or an object kept as JSON.
 * Under /_local/: `POST /_local/faults` (see faults.ts), `DELETE /_local/faults`, and `GET /_local/requests`, an array
 * of `{action, secret}` that never holds a value.
 */
export async function startSecretsManager(initial: Record<string, object | string> = {}) {
  const store: Store = { secrets: new Map(), region: 'us-east-1' };
  const faults = faultList();
  const requests: { action: string; secret: string }[] = [];
  for (const [Name, value] of Object.entries(initial)) {
    const SecretString = typeof value === 'string' ? value : JSON.stringify(value);
    operations.CreateSecret(store, { Name, SecretString });
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    tellDate(response);
    const body = await text(request);
    const send = (status: number, answered?: object) => {
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' });
      response.end(answered === undefined ? undefined : JSON.stringify(answered));
    };
    if (request.url === '/_local/requests') return send(200, requests);
    if (request.url === '/_local/faults') return faults.control(request.method, body, response);
    const action = `${request.headers['x-amz-target']}`.replace('secretsmanager.', '');
    const input = JSON.parse(body) as Input;
    const secretId = input.SecretId ?? input.Name ?? '';
    const secret = findSecret(store, secretId)?.name ?? secretId;
    requests.push({ action, secret });
    const fault = faults.take(action, secret);
    if (fault && !(await suffer(fault, response))) return;
    try {
      const refusal = fault && refusalOf(fault);
      if (refusal) throw new Refusal(refusal.type, 'a local fault', refusal.status);
      send(200, perform(action, input, request.headers.authorization));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      send(error.status, { __type: error.name, Message: error.message });
    }
  }

  function perform(action: string, input: Input, authorization = ''): object {
    const [, region] = /Credential=[^/]+\/\d+\/([^/]+)\/secretsmanager\//.exec(authorization) ?? [];
    if (!region) throw new Refusal('MissingAuthenticationTokenException', 'Missing Authentication Token');
    store.region = region;
    if (!Object.hasOwn(operations, action))
      throw new Refusal('UnknownOperationException', `${action} is not known here.`);
    return operations[action as keyof typeof operations](store, input);
  }

  return listening(
    createServer((request, response) => {
      answer(request, response).catch((error) => response.writeHead(500).end(`${error}`));
    }),
    faults.needsSocket,
  );
}

/** An answer that is an error of this type. */
class Refusal extends Error {
  readonly status: number;
  constructor(type: string, message: string, status = 400) {
    super(message);
    this.name = type;
    this.status = status;
  }
}

const operations = {
  CreateSecret(store: Store, { Name: name = '', SecretString, ...input }: Input) {
    if (store.secrets.has(name))
      throw new Refusal('ResourceExistsException', `There is a secret named ${name} already.`);
    const random = randomBytes(3).toString('hex');
    const arn = `arn:aws:secretsmanager:${store.region}:000000000000:secret:${name}-${random}`;
    const secret: Secret = { name, arn, deletionDate: undefined, versions: new Map() };
    store.secrets.set(name, secret);
    if (SecretString === undefined) return identity(secret);
    return { ...identity(secret), VersionId: addVersion(secret, tokenOf(input), SecretString).id };
  },

  GetSecretValue(store: Store, { SecretId, VersionId, VersionStage: stage = 'AWSCURRENT' }: Input) {
    const secret = liveSecret(store, SecretId);
    const version = VersionId === undefined ? holderOf(secret, stage) : secret.versions.get(VersionId);
    if (!version) throw notFound(`The secret has no value for ${VersionId ?? `staging label: ${stage}`}`);
    const { id, value, stages, createdDate } = version;
    const shown = {
      VersionId: id,
      SecretString: value,
      VersionStages: [...stages],
      CreatedDate: createdDate,
    };
    return { ...identity(secret), ...shown };
  },

  PutSecretValue(store: Store, { SecretString = '', VersionStages, ...input }: Input) {
    const secret = liveSecret(store, input.SecretId);
    const token = tokenOf(input);
    const existing = secret.versions.get(token);
    if (existing && existing.value !== SecretString)
      throw new Refusal('ResourceExistsException', `ClientRequestToken ${token} belongs to another value.`);
    const version = existing ?? addVersion(secret, token, SecretString, VersionStages);
    return { ...identity(secret), VersionId: version.id, VersionStages: [...version.stages] };
  },

  UpdateSecretVersionStage(store: Store, input: Input) {
    const { VersionStage: stage = '', MoveToVersionId: to = '', RemoveFromVersionId: from } = input;
    const secret = liveSecret(store, input.SecretId);
    const holder = holderOf(secret, stage);
    const target = secret.versions.get(to);
    if (!target) throw notFound(`The secret has no version ${to}.`);
    // It must be named where the label is, unless it is there already.
    if (from !== holder?.id && !(holder === target && from === undefined))
      throw new Refusal(
        'InvalidParameterException',
        `Staging label ${stage} is on ${holder?.id}, not on ${from}.`,
      );
    attach(secret, stage, target);
    return identity(secret);
  },

  DescribeSecret(store: Store, { SecretId }: Input) {
    const secret = anySecret(store, SecretId);
    const LastChangedDate = Math.max(...[...secret.versions.values()].map(({ createdDate }) => createdDate));
    const changed = { LastChangedDate, VersionIdsToStages: stagesOf(secret) };
    return { ...identity(secret), DeletedDate: secret.deletionDate, ...changed };
  },

  /** A page ends at a name: it goes on there, whatever is created or deleted meanwhile. */
  ListSecrets({ secrets }: Store, { Filters = [], MaxResults = 100, NextToken = '' }: Input) {
    const left = [...secrets.values()]
      .filter(({ name, deletionDate }) => name > NextToken && deletionDate === undefined)
      .filter(({ name }) => Filters.every(({ Values }) => Values.some((value) => name.startsWith(value))))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const page = left.slice(0, MaxResults);
    return {
      SecretList: page.map((secret) => ({ ...identity(secret), SecretVersionsToStages: stagesOf(secret) })),
      NextToken: left.length > page.length ? page.at(-1)?.name : undefined,
    };
  },

  DeleteSecret(store: Store, { SecretId, ForceDeleteWithoutRecovery: force = false }: Input) {
    const secret = anySecret(store, SecretId);
    if (force) store.secrets.delete(secret.name);
    else secret.deletionDate = now() + 30 * 86_400;
    return { ...identity(secret), DeletionDate: secret.deletionDate ?? now() };
  },
};

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
  throw new Refusal('InvalidParameterException', 'ClientRequestToken must have 32 to 64 characters.');
}

const holderOf = ({ versions }: Secret, stage: string): Version | undefined =>
  [...versions.values()].find(({ stages }) => stages.has(stage));

/** By its name or its ARN. */
const findSecret = ({ secrets }: Store, secretId = ''): Secret | undefined =>
  secrets.get(secretId) ?? [...secrets.values()].find(({ arn }) => arn === secretId);

function anySecret(store: Store, secretId: string | undefined): Secret {
  const secret = findSecret(store, secretId);
  if (!secret) throw notFound(`There is no secret ${secretId}.`);
  return secret;
}

function liveSecret(store: Store, secretId: string | undefined): Secret {
  const secret = anySecret(store, secretId);
  if (secret.deletionDate === undefined) return secret;
  throw new Refusal('InvalidRequestException', `The secret ${secret.name} is marked for deletion.`);
}

const notFound = (message: string) => new Refusal('ResourceNotFoundException', message);
const identity = ({ arn, name }: Secret) => ({ ARN: arn, Name: name });

function stagesOf({ versions }: Secret) {
  const labelled = [...versions.values()].filter(({ stages }) => stages.size > 0);
  return Object.fromEntries(labelled.map(({ id, stages }) => [id, [...stages]]));
}

/** AWS' JSON protocols write times as seconds. */
const now = () => Date.now() / 1000;
