import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { localClient } from './aws.ts';
import type { StackDescription } from './stack.ts';

export type PlatformRequest = {
  at: string;
  method: string;
  path: string;
  userId: number | null;
  status: number | null;
};

export type PlatformState = Record<string, Record<string, unknown>[]>;

/** What tests and people do behind the functions' backs: to the platform, and to Secrets Manager. */
export function controlsOf(description: StackDescription) {
  const ask = async <Answer = unknown>(method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await fetch(`${description.platform}/_local/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} /_local/${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Answer;
  };
  return {
    state: (): Promise<PlatformState> => ask('GET', 'state'),
    requests: (): Promise<PlatformRequest[]> => ask('GET', 'requests'),
    fault: (fault: object) => ask('POST', 'faults', fault),
    clearFaults: () => ask('DELETE', 'faults'),
    seed: (seed: object) => ask('POST', 'seed', seed),
    clock: (skewSeconds: number) => ask('POST', 'clock', { skewSeconds }),
    /** What the platform accepts from now on. */
    key: (userId: number, userKey: string) => ask('POST', 'keys', { userId, userKey }),
    secret: async (name: string, value: object) => {
      const client = new SecretsManagerClient(localClient(description.secretsManager));
      await client.send(new PutSecretValueCommand({ SecretId: name, SecretString: JSON.stringify(value) }));
      client.destroy();
    },
  };
}

export type Controls = ReturnType<typeof controlsOf>;
