import { traced } from './error.ts';
import { memoize } from './memoize.ts';

/** Settings of an AWS client; it reads the rest from the environment. */
export type ClientOptions = {
  maxAttempts?: number;
  requestHandler?: { connectionTimeout: number; requestTimeout: number; throwOnRequestTimeout: true };
  endpoint?: string;
  region?: string;
  profile?: string;
  credentials?: Credentials | (() => Promise<Credentials>);
  /** For S3: a store without a host name for each bucket. */
  forcePathStyle?: boolean;
};

type Credentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
};

type Constructor<Client> = new (options: ClientOptions) => Client;

/** An AWS client whose errors know their call. */
export const awsClient = <Client extends Parameters<typeof traced>[0]>(
  Client: Constructor<Client>,
  options: ClientOptions,
): Client => traced(new Client(options));

/** Loads the client at its first use. `load` imports it, so that a bundle holds only the clients that it uses. */
export const lazyAwsClient = <Client extends Parameters<typeof traced>[0]>(
  load: () => Promise<Constructor<Client>>,
  options: ClientOptions,
): (() => Promise<Client>) => memoize(async () => awsClient(await load(), options));

/** Time limits of each try of a call. */
export const timeouts = (times: { connectionMs: number; requestMs: number }): ClientOptions => ({
  requestHandler: {
    connectionTimeout: times.connectionMs,
    requestTimeout: times.requestMs,
    throwOnRequestTimeout: true,
  },
});
