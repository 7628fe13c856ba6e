import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';
import { partition } from '@aws-sdk/core/client';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { doesIdentityRequireRefresh, isIdentityExpired, memoizeIdentityProvider } from '@smithy/core';
import {
  loadConfig,
  NODE_REGION_CONFIG_OPTIONS,
  NODE_USE_DUALSTACK_ENDPOINT_CONFIG_OPTIONS,
  NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS,
} from '@smithy/core/config';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import type { ClientOptions } from './clients.ts';

/** Signs requests by the SDK's own code, for the region and with the credentials of the function. */
export const createSigner = async (options: ClientOptions) => {
  const region = options.region ?? (await loadConfig(NODE_REGION_CONFIG_OPTIONS)());
  const url = new URL(options.endpoint ?? (await endpointIn(region)));
  const provider = options.credentials ?? defaultProvider();
  const credentials = memoizeIdentityProvider(provider, isIdentityExpired, doesIdentityRequireRefresh);
  if (credentials === undefined) throw new Error('There are no credentials of AWS');
  const signer = new SignatureV4({ service: 'dynamodb', region, credentials, sha256: Sha256 });
  return {
    origin: url.origin,
    signed: async (action: string, body: string) => {
      const headers = {
        host: url.host,
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `DynamoDB_20120810.${action}`,
      };
      const request = { method: 'POST', path: url.pathname, headers, body } as const;
      return { ...request, headers: (await signer.sign(new HttpRequest(request))).headers };
    },
  };
};

/** AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, or else the usual one of the region. */
const endpointIn = async (region: string): Promise<string> => {
  const configured = await loadConfig<string | undefined>({
    environmentVariableSelector: (env) => env.AWS_ENDPOINT_URL_DYNAMODB ?? env.AWS_ENDPOINT_URL,
    configFileSelector: () => undefined,
    default: undefined,
  })();
  if (configured !== undefined) return configured;
  const isFips = await loadConfig(NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS)();
  if (isFips || (await loadConfig(NODE_USE_DUALSTACK_ENDPOINT_CONFIG_OPTIONS)()))
    throw new Error('Set AWS_ENDPOINT_URL_DYNAMODB to the FIPS or dual-stack endpoint of the region');
  return `https://dynamodb.${region}.${partition(region).dnsSuffix}`;
};

type Secret = string | ArrayBuffer | ArrayBufferView;

const keys = new Map<Secret, KeyObject>();

const keyOf = (secret: Secret): KeyObject => {
  const key = keys.get(secret) ?? createSecretKey(secret as string, 'utf8');
  // More are those of former days and credentials.
  if (keys.size >= 20) keys.clear();
  keys.set(secret, key);
  return key;
};

/** The SDK's own class makes a key of the secret for each HMAC, which is 40 % of a signature. This one keeps them. */
class Sha256 {
  readonly #secret: Secret | undefined;
  #text: Uint8Array = Buffer.alloc(0);

  constructor(secret?: Secret) {
    this.#secret = secret;
  }

  /** The signer gives all at once, and makes a new one for each text. */
  update(text: Uint8Array): void {
    this.#text = text;
  }

  async digest(): Promise<Uint8Array> {
    if (this.#secret === undefined) return hash('sha256', this.#text, 'buffer');
    return createHmac('sha256', keyOf(this.#secret)).update(this.#text).digest();
  }

  reset(): void {}
}
