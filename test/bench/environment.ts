import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bundle, built } from './build.ts';
import { launch } from './processes.ts';
import type { Servers, ServersAsked } from './servers.ts';

/** What every benchmark stands on: the servers, the bundles, and the settings of a function that talks to those servers. */
export type Environment = {
  /** A function, or a peer of one, as the packaging makes it; made once. */
  bundleOf(source: URL): Promise<Bundle>;
  settings: Record<string, string>;
  /** The same with the ledger on, as it is deployed. */
  withLedger: Record<string, string>;
  /** From now on the platform answers after so long; tells how many requests it has answered so far. */
  setLatency(latencyMs: number): Promise<Servers>;
  close(): Promise<void>;
};

export const startEnvironment = async (): Promise<Environment> => {
  const folder = mkdtempSync(join(tmpdir(), 'sis-relay-bench-'));
  const program = launch<ServersAsked, Servers>({ program: new URL('servers.ts', import.meta.url) });
  const setLatency = (latencyMs: number) => program.ask({ latencyMs });
  const servers = await setLatency(0);
  const bundles = new Map<string, Promise<Bundle>>();
  const bundleOf = (source: URL): Promise<Bundle> => {
    const bundle = bundles.get(source.href) ?? built(source, folder);
    bundles.set(source.href, bundle);
    return bundle;
  };
  const settings = {
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'bench',
    AWS_SECRET_ACCESS_KEY: 'bench',
    AWS_LAMBDA_FUNCTION_NAME: 'bench',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: servers.secretsManager,
    AWS_ENDPOINT_URL_S3: servers.s3,
    // A letter or a visibility would be a failure of the bench: it fails at once, instead of going to the real queues.
    AWS_ENDPOINT_URL_SQS: 'http://127.0.0.1:9',
    PLATFORM_URL: servers.platform,
    SECRET_PREFIX: 'bench',
    QUEUE_URL: 'http://127.0.0.1:9/000000000000/sis-relay-bench',
    DEAD_LETTER_QUEUE_URL: 'http://127.0.0.1:9/000000000000/sis-relay-dead-letters',
  };
  return {
    bundleOf,
    setLatency,
    settings,
    withLedger: {
      ...settings,
      LEDGER_TABLE: 'ledger',
      LEDGER_KEY_SECRET: 'bench/ledger-key',
      AWS_ENDPOINT_URL_DYNAMODB: servers.dynamodb,
    },
    close: async () => {
      await program.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
