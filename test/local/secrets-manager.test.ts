import { randomUUID } from 'node:crypto';
import {
  CreateSecretCommand,
  DeleteSecretCommand,
  DescribeSecretCommand,
  GetSecretValueCommand,
  ListSecretsCommand,
  PutSecretValueCommand,
  paginateListSecrets,
  ResourceNotFoundException,
  RestoreSecretCommand,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { localClient } from './aws.ts';
import { passingTime } from './passing-time.ts';
import { startSecretsManager } from './secrets-manager.ts';

const time = passingTime();
const key = { type: 'id-key', appKey: 'the-secret-app-key' };
let server: Awaited<ReturnType<typeof startSecretsManager>>;
let client: SecretsManagerClient;

beforeEach(async () => {
  server = await startSecretsManager({ 'relay/service': key });
  client = new SecretsManagerClient({ ...localClient(server.url), maxAttempts: 1 });
});
afterEach(async () => {
  client.destroy();
  await server.close();
});

const create = (name: string, value?: string) =>
  client.send(new CreateSecretCommand({ Name: name, SecretString: value }));
const get = (name: string, which: { VersionId?: string; VersionStage?: string } = {}) =>
  client.send(new GetSecretValueCommand({ SecretId: name, ...which }));
const put = (
  name: string,
  value: string,
  options: { ClientRequestToken?: string; VersionStages?: string[] } = {},
) => client.send(new PutSecretValueCommand({ SecretId: name, SecretString: value, ...options }));
const move = (
  name: string,
  stage: string,
  ids: { MoveToVersionId?: string | undefined; RemoveFromVersionId?: string | undefined },
) => client.send(new UpdateSecretVersionStageCommand({ SecretId: name, VersionStage: stage, ...ids }));
const stagesOf = async (name: string) =>
  (await client.send(new DescribeSecretCommand({ SecretId: name }))).VersionIdsToStages ?? {};
const fault = (body: object) =>
  fetch(`${server.url}/_local/faults`, { method: 'POST', body: JSON.stringify(body) });
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    ({ name, code, $metadata }) => ($metadata?.httpStatusCode ? name : (code ?? name)) as string,
  );

describe('a secret', () => {
  test('is read by its name, its ARN, and its ARN without the random characters', async () => {
    const { ARN = '' } = await get('relay/service');
    expect(ARN).toMatch(/^arn:aws:secretsmanager:us-east-1:000000000000:secret:relay\/service-.{6}$/);
    for (const id of ['relay/service', ARN, ARN.slice(0, -7)]) {
      const { Name, SecretString, VersionStages, CreatedDate } = await get(id);
      expect(Name).toBe('relay/service');
      expect(JSON.parse(SecretString ?? '')).toEqual(key);
      expect(VersionStages).toEqual(['AWSCURRENT']);
      expect(CreatedDate).toBeInstanceOf(Date);
    }
  });

  test('that is missing is named as missing, in the SDK’s own class', async () => {
    await expect(get('relay/none')).rejects.toBeInstanceOf(ResourceNotFoundException);
  });

  test('is created once', async () => {
    await create('relay/new', 'one');
    expect(await errorOf(create('relay/new', 'two'))).toBe('ResourceExistsException');
    expect((await get('relay/new')).SecretString).toBe('one');
  });

  test('is created once by a request that is sent twice', async () => {
    const request = { Name: 'relay/new', SecretString: 'one', ClientRequestToken: randomUUID() };
    const first = await client.send(new CreateSecretCommand(request));
    expect(await client.send(new CreateSecretCommand(request))).toMatchObject({
      ARN: first.ARN,
      VersionId: request.ClientRequestToken,
    });
  });

  test('without a value has none to give until one is put', async () => {
    await create('relay/empty');
    expect(await errorOf(get('relay/empty'))).toBe('ResourceNotFoundException');
    await put('relay/empty', 'now');
    expect((await get('relay/empty')).SecretString).toBe('now');
  });

  test('keeps bytes', async () => {
    const bytes = new Uint8Array([0, 128, 255]);
    await client.send(new CreateSecretCommand({ Name: 'relay/bytes', SecretBinary: bytes }));
    expect((await get('relay/bytes')).SecretBinary).toEqual(bytes);
  });

  test.for([
    ['a bad name', { Name: 'no spaces' }, 'ValidationException'],
    ['a short token', { Name: 'ok', ClientRequestToken: 'short' }, 'InvalidParameterException'],
    [
      'two values',
      { Name: 'ok', SecretString: 'a', SecretBinary: new Uint8Array([1]) },
      'InvalidParameterException',
    ],
    ['too large a value', { Name: 'ok', SecretString: 'a'.repeat(65_537) }, 'ValidationException'],
  ] as const)('is not created with %s', async ([, input, error]) => {
    expect(await errorOf(client.send(new CreateSecretCommand(input)))).toBe(error);
    expect(await errorOf(client.send(new DescribeSecretCommand({ SecretId: 'ok' })))).toBe(
      'ResourceNotFoundException',
    );
  });
});

describe('a version', () => {
  test('that is put becomes the current one, and the one before stays readable as previous', async () => {
    const old = await get('relay/service');
    const { VersionId, VersionStages } = await put('relay/service', 'new');
    expect(VersionStages).toEqual(['AWSCURRENT']);
    expect((await get('relay/service')).SecretString).toBe('new');
    expect((await get('relay/service', { VersionStage: 'AWSPREVIOUS' })).VersionId).toBe(old.VersionId);
    expect((await get('relay/service', { VersionId: old.VersionId! })).SecretString).toBe(old.SecretString);
    expect(await stagesOf('relay/service')).toEqual({
      [old.VersionId!]: ['AWSPREVIOUS'],
      [VersionId!]: ['AWSCURRENT'],
    });
    await put('relay/service', 'newer');
    expect(await stagesOf('relay/service')).not.toHaveProperty(old.VersionId!);
  });

  test('is put once by a request that is sent twice, and its token takes no other value', async () => {
    const ClientRequestToken = randomUUID();
    await put('relay/service', 'new', { ClientRequestToken });
    await put('relay/service', 'newer');
    expect((await put('relay/service', 'new', { ClientRequestToken })).VersionId).toBe(ClientRequestToken);
    expect((await get('relay/service')).SecretString).toBe('newer');
    const other = put('relay/service', 'other', { ClientRequestToken });
    expect(await errorOf(other)).toBe('ResourceExistsException');
  });

  test('that is put as pending leaves the current one in place until the label is moved', async () => {
    const { VersionId: current } = await get('relay/service');
    const { VersionId: pending } = await put('relay/service', 'new', { VersionStages: ['AWSPENDING'] });
    expect((await get('relay/service')).VersionId).toBe(current);
    expect((await get('relay/service', { VersionStage: 'AWSPENDING' })).SecretString).toBe('new');
    await move('relay/service', 'AWSCURRENT', { MoveToVersionId: pending, RemoveFromVersionId: current });
    await move('relay/service', 'AWSPENDING', { RemoveFromVersionId: pending });
    expect(await stagesOf('relay/service')).toEqual({
      [current!]: ['AWSPREVIOUS'],
      [pending!]: ['AWSCURRENT'],
    });
  });

  test('gets a label that another has only when that other is named', async () => {
    const { VersionId: old } = await get('relay/service');
    const { VersionId: current } = await put('relay/service', 'new');
    const back = (RemoveFromVersionId?: string) =>
      errorOf(move('relay/service', 'AWSCURRENT', { MoveToVersionId: old, RemoveFromVersionId }));
    expect(await back()).toBe('InvalidParameterException');
    expect(await back(old)).toBe('InvalidParameterException');
    expect(await back(current)).toBe('no error');
    expect(await stagesOf('relay/service')).toEqual({ [old!]: ['AWSCURRENT'], [current!]: ['AWSPREVIOUS'] });
  });

  test('keeps the label AWSCURRENT, which cannot be removed', async () => {
    const { VersionId } = await get('relay/service');
    expect(await errorOf(move('relay/service', 'AWSCURRENT', { RemoveFromVersionId: VersionId }))).toBe(
      'InvalidParameterException',
    );
  });

  test('that is missing, or lacks the label asked for, is not read', async () => {
    const { VersionId = '' } = await get('relay/service');
    expect(await errorOf(get('relay/service', { VersionId: randomUUID() }))).toBe(
      'ResourceNotFoundException',
    );
    expect(await errorOf(get('relay/service', { VersionStage: 'AWSPENDING' }))).toBe(
      'ResourceNotFoundException',
    );
    expect(await errorOf(get('relay/service', { VersionId, VersionStage: 'AWSPENDING' }))).toBe(
      'InvalidRequestException',
    );
    expect(await errorOf(move('relay/service', 'X', { MoveToVersionId: randomUUID() }))).toBe(
      'ResourceNotFoundException',
    );
  });
});

describe('the list', () => {
  const names = async (input: object = {}) => {
    const pages = [];
    for await (const { SecretList = [] } of paginateListSecrets({ client }, input))
      pages.push(SecretList.map(({ Name }) => Name));
    return pages;
  };

  test('holds the secrets whose names begin as asked, in pages', async () => {
    for (const id of [1, 2, 3, 4, 5]) await create(`relay/users/${id}`, 'x');
    const Filters = [{ Key: 'name' as const, Values: ['relay/users/'] }];
    expect(await names({ Filters, MaxResults: 2 })).toEqual([
      ['relay/users/1', 'relay/users/2'],
      ['relay/users/3', 'relay/users/4'],
      ['relay/users/5'],
    ]);
    expect(await names({ Filters: [{ Key: 'name', Values: ['!relay/users/'] }] })).toEqual([
      ['relay/service'],
    ]);
    expect((await names({ SortOrder: 'desc' })).flat()[0]).toBe('relay/users/5');
  });

  test('goes on where a page ended, though a secret was deleted meanwhile', async () => {
    for (const id of [1, 2, 3]) await create(`relay/users/${id}`, 'x');
    const { NextToken } = await client.send(new ListSecretsCommand({ MaxResults: 2 }));
    await client.send(
      new DeleteSecretCommand({ SecretId: 'relay/service', ForceDeleteWithoutRecovery: true }),
    );
    const { SecretList } = await client.send(new ListSecretsCommand({ NextToken }));
    expect(SecretList?.map(({ Name }) => Name)).toEqual(['relay/users/2', 'relay/users/3']);
  });

  test('tells the versions of a secret, and refuses a token that it did not give', async () => {
    const { VersionId } = await get('relay/service');
    const { SecretList } = await client.send(new ListSecretsCommand({}));
    expect(SecretList?.[0]?.SecretVersionsToStages).toEqual({ [VersionId!]: ['AWSCURRENT'] });
    expect(await errorOf(client.send(new ListSecretsCommand({ NextToken: 'mine' })))).toBe(
      'InvalidNextTokenException',
    );
  });
});

describe('a deletion', () => {
  test('that is scheduled stops reading and writing until the secret is restored', async () => {
    const { DeletionDate } = await client.send(
      new DeleteSecretCommand({ SecretId: 'relay/service', RecoveryWindowInDays: 7 }),
    );
    expect(DeletionDate!.getTime()).toBeGreaterThan(Date.now() + 6 * 86_400_000);
    expect(await errorOf(get('relay/service'))).toBe('InvalidRequestException');
    expect(await errorOf(put('relay/service', 'x'))).toBe('InvalidRequestException');
    expect(await errorOf(create('relay/service', 'x'))).toBe('InvalidRequestException');
    expect((await client.send(new ListSecretsCommand({}))).SecretList).toEqual([]);
    const { SecretList } = await client.send(new ListSecretsCommand({ IncludePlannedDeletion: true }));
    expect(SecretList).toEqual([
      expect.objectContaining({ Name: 'relay/service', DeletedDate: DeletionDate }),
    ]);
    await client.send(new RestoreSecretCommand({ SecretId: 'relay/service' }));
    expect(JSON.parse((await get('relay/service')).SecretString ?? '')).toEqual(key);
  });

  test('that is forced ends the secret at once, also a scheduled one, and a new one may take its name', async () => {
    await client.send(new DeleteSecretCommand({ SecretId: 'relay/service' }));
    const force = { SecretId: 'relay/service', ForceDeleteWithoutRecovery: true };
    await client.send(new DeleteSecretCommand(force));
    expect(await errorOf(get('relay/service'))).toBe('ResourceNotFoundException');
    expect(await errorOf(client.send(new DeleteSecretCommand(force)))).toBe('no error');
    await create('relay/service', 'new');
    expect((await get('relay/service')).SecretString).toBe('new');
  });

  test.for([
    ['of a missing secret', { SecretId: 'none' }, 'ResourceNotFoundException'],
    [
      'with a window of 3 days',
      { SecretId: 'relay/service', RecoveryWindowInDays: 3 },
      'InvalidParameterException',
    ],
    [
      'that is forced and has a window',
      { SecretId: 'relay/service', RecoveryWindowInDays: 7, ForceDeleteWithoutRecovery: true },
      'InvalidParameterException',
    ],
  ] as const)('%s is refused', async ([, input, error]) => {
    expect(await errorOf(client.send(new DeleteSecretCommand(input)))).toBe(error);
  });
});

describe('under /_local/', () => {
  const requests = async () =>
    (await fetch(`${server.url}/_local/requests`)).json() as Promise<Record<string, unknown>[]>;

  test('the requests are listed with action, name and status, never with a value', async () => {
    await put('relay/service', 'a-new-secret-value');
    await errorOf(get('relay/none'));
    await get((await get('relay/service')).ARN!);
    expect(await requests()).toEqual([
      { at: expect.any(String), action: 'PutSecretValue', secret: 'relay/service', status: 200 },
      { at: expect.any(String), action: 'GetSecretValue', secret: 'relay/none', status: 400 },
      { at: expect.any(String), action: 'GetSecretValue', secret: 'relay/service', status: 200 },
      { at: expect.any(String), action: 'GetSecretValue', secret: 'relay/service', status: 200 },
    ]);
    expect(JSON.stringify(await requests())).not.toContain('a-new-secret-value');
  });

  test.for([
    [{ type: 'InternalServiceError' }, 'InternalServiceError', 500],
    [{ status: 503 }, 'InternalServiceError', 503],
    [{ type: 'AccessDeniedException' }, 'AccessDeniedException', 400],
    [{ type: 'ThrottlingException', status: 400 }, 'ThrottlingException', 400],
  ] as const)('a fault %o is answered as %s with %i, as often as it says', async ([effect, name, status]) => {
    await fault({ ...effect, times: 1 });
    await expect(get('relay/service')).rejects.toMatchObject({ name, $metadata: { httpStatusCode: status } });
    await get('relay/service');
  });

  test('a fault meets the secret and the action that it names', async () => {
    await create('relay/other', 'x');
    await fault({ action: 'GetSecretValue', name: 'relay/other', type: 'InternalServiceError' });
    await get('relay/service');
    await client.send(new DescribeSecretCommand({ SecretId: 'relay/other' }));
    expect(await errorOf(get('relay/other'))).toBe('InternalServiceError');
    await fetch(`${server.url}/_local/faults`, { method: 'DELETE' });
    await get('relay/other');
  });

  test('a fault lasts as long as it says', async () => {
    await fault({ forMs: 1_000, status: 500 });
    expect(await errorOf(get('relay/service'))).toBe('InternalServiceError');
    time.pass(1_000);
    expect(await errorOf(get('relay/service'))).toBe('no error');
  });

  test('a fault cuts the connection before or after the value is written', async () => {
    await fault({ action: 'PutSecretValue', times: 1, reset: true });
    expect(await errorOf(put('relay/service', 'lost'))).toBe('ECONNRESET');
    expect((await get('relay/service')).SecretString).not.toBe('lost');
    await fault({ action: 'PutSecretValue', times: 1, reset: 'after' });
    expect(await errorOf(put('relay/service', 'kept'))).toBe('ECONNRESET');
    expect((await get('relay/service')).SecretString).toBe('kept');
    expect((await requests()).filter(({ status }) => status === 0)).toHaveLength(2);
  });

  test('a fault cuts the answer off in the middle', async () => {
    await fault({ times: 1, truncate: true });
    expect(await errorOf(get('relay/service'))).not.toBe('no error');
  });

  test('a fault delays the answer', async () => {
    await fault({ times: 1, delayMs: 200 });
    const sentAt = performance.now();
    await get('relay/service');
    expect(performance.now() - sentAt).toBeGreaterThan(190);
  });

  test('a fault leaves a call without an answer until the caller gives up, and the server can stop meanwhile', async () => {
    await fault({ times: 2, hang: true });
    const abortSignal = AbortSignal.timeout(200);
    const impatient = client.send(new GetSecretValueCommand({ SecretId: 'relay/service' }), { abortSignal });
    expect(await errorOf(impatient)).toBe('AbortError');
    const patient = errorOf(get('relay/service'));
    await expect.poll(async () => (await requests()).length).toBe(2);
    await server.close();
    expect(await patient).toBe('ECONNRESET');
  });

  test('an unknown operation and an unsigned request are refused', async () => {
    const call = (headers: Record<string, string>) =>
      fetch(server.url, { method: 'POST', body: '{}', headers }).then(
        async (answer) => (await answer.json()) as unknown,
      );
    const authorization = 'AWS4-HMAC-SHA256 Credential=local/20260101/eu-west-1/secretsmanager/aws4_request';
    expect(await call({ 'x-amz-target': 'secretsmanager.ListSecrets' })).toMatchObject({
      __type: 'MissingAuthenticationTokenException',
    });
    expect(await call({ 'x-amz-target': 'secretsmanager.RotateSecret', authorization })).toMatchObject({
      __type: 'UnknownOperationException',
    });
  });
});
