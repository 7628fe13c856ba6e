import { randomUUID } from 'node:crypto';
import type { PlatformChanges, PlatformRemovals } from './platform/control.ts';
import type { Fault } from './platform/faults.ts';
import { platformsHere } from './platform/server.ts';
import type { World } from './platform/world.ts';
import type { StackDescription } from './stack.ts';

export type PlatformRequest = Omit<World['requests'][number], 'queryNames'>;

/** In place of an answer, or done to it. */
export type Effect = Fault['then'];

/** `path` is a regular expression; `times` is 1 unless given. */
type FaultOptions = NonNullable<Fault['match']> & Pick<Fault, 'times' | 'probability' | 'seed'>;

type AwsService = 'sqs' | 's3' | 'secretsManager' | 'dynamodb';

export type PlatformState = Record<string, Record<string, unknown>[]>;

/** A request to an emulator's control API, such as `POST reset`, and its answer. */
export const control = async <Answer = unknown>(
  url: string,
  call: `${'GET' | 'POST' | 'DELETE'} ${string}`,
  body?: unknown,
): Promise<Answer> => {
  const [method = '', name = ''] = call.split(' ');
  const sent = body === undefined ? '' : JSON.stringify(body);
  const { status, text } =
    platformsHere.get(url)?.(method, name, sent) ?? (await byHttp(`${url}/_local/${name}`, method, sent));
  if (status >= 300) throw new Error(`${call}: ${status} ${text}`);
  return JSON.parse(text);
};

const byHttp = async (url: string, method: string, body: string) => {
  const answer = await fetch(url, { method, ...(body !== '' && { body }) });
  return { status: answer.status, text: await answer.text() };
};

/** What tests and people do behind the functions' backs: to the platform, and to Secrets Manager. */
export function controlsOf(description: StackDescription) {
  const ask = <Answer = unknown>(call: Parameters<typeof control>[1], body?: unknown): Promise<Answer> =>
    control(description.platform, call, body);
  /** Without a client of the SDK, which takes many times as long to make as this call. */
  const askSecrets = (action: string, input: object) =>
    fetch(description.secretsManager, {
      method: 'POST',
      headers: {
        'x-amz-target': `secretsmanager.${action}`,
        // It looks for the region alone.
        authorization: `AWS4-HMAC-SHA256 Credential=local/20260101/${description.region}/secretsmanager/aws4_request`,
      },
      body: JSON.stringify({ ClientRequestToken: randomUUID(), ...input }),
    });
  return {
    /** Of these tables; default: of all. */
    state: (...only: string[]): Promise<PlatformState> =>
      ask(only.length === 0 ? 'GET state' : `GET state?only=${only}`),
    requests: (): Promise<PlatformRequest[]> => ask('GET requests'),
    /** What befalls the next requests that match, each that many times. */
    fault: (effect: Effect, { method, path, ...often }: FaultOptions = {}) =>
      // biome-ignore lint/suspicious/noThenProperty: the control API's own word; nothing awaits this object
      ask('POST faults', { match: { method, path }, ...often, then: effect }),
    clearFaults: () => ask('DELETE faults'),
    reset: () => ask('POST reset'),
    rateLimit: (creditsPerMinute: number | null, windowSeconds = 60) =>
      ask('POST rateLimit', { creditsPerMinute, windowSeconds }),
    seed: (seed: object) => ask('POST seed', seed),
    /** As by a person or a restore; a row that is not there is refused. */
    change: (changes: PlatformChanges) => ask('POST change', changes),
    remove: (removals: PlatformRemovals) => ask('POST remove', removals),
    clock: (skewSeconds: number) => ask('POST clock', { skewSeconds }),
    /** How the platform behaves where deployments differ. */
    settings: (changes: object) => ask('POST settings', changes),
    /** What the platform accepts from now on. */
    key: (userId: number, userKey: string) => ask('POST keys', { userId, userKey }),
    /** Gives a secret this value, and makes it where there is none. */
    secret: async (name: string, value: object) => {
      const SecretString = JSON.stringify(value);
      const put = await askSecrets('PutSecretValue', { SecretId: name, SecretString });
      if (put.ok) return;
      const created = await askSecrets('CreateSecret', { Name: name, SecretString });
      if (!created.ok) throw new Error(`${name}: ${created.status} ${await created.text()}`);
    },
    /** Of which time the bucket's files are that are put from now on; null: of the time that it is. */
    calendar: async (now: string | null) => {
      const answer = await fetch(`${description.s3}/_local/calendar`, {
        method: 'POST',
        body: JSON.stringify({ now }),
      });
      if (!answer.ok) throw new Error(`POST /_local/calendar: ${answer.status} ${await answer.text()}`);
    },
    /** Makes calls of an emulated service fail, as aws/faults.ts tells. */
    awsFault: async (service: AwsService, fault: object) => {
      const url = `${description[service]}/_local/faults`;
      const answer = await fetch(url, { method: 'POST', body: JSON.stringify(fault) });
      if (!answer.ok) throw new Error(`POST ${url}: ${answer.status} ${await answer.text()}`);
    },
    /** All emulated services answer as they should again. */
    clearAwsFaults: async () => {
      const { sqs, secretsManager, dynamodb } = description;
      // S3 is served with SQS.
      for (const url of [sqs, secretsManager, dynamodb])
        await fetch(`${url}/_local/faults`, { method: 'DELETE' });
    },
  };
}

export type Controls = ReturnType<typeof controlsOf>;
