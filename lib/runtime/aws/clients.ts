import { traced } from './error.ts';
import { once } from './once.ts';

/** What is set of a client of AWS; the rest it reads from the environment by itself. */
export type ClientOptions = {
  maxAttempts?: number;
  requestHandler?: { connectionTimeout: number; requestTimeout: number; throwOnRequestTimeout: true };
  endpoint?: string;
  region?: string;
  profile?: string;
  credentials?: Credentials | (() => Promise<Credentials>);
  /** Of S3: for a store without a host name for each bucket. */
  forcePathStyle?: boolean;
};

type Credentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
};

type Constructor<Client> = new (options: ClientOptions) => Client;

/** A client of AWS whose errors know which call they come from. */
export const awsClient = <Client extends Parameters<typeof traced>[0]>(
  Client: Constructor<Client>,
  options: ClientOptions,
): Client => traced(new Client(options));

/** Loads the client when it is first asked for. `load` imports it, so that a bundle holds only the clients that it uses. */
export const lazyAwsClient = <Client extends Parameters<typeof traced>[0]>(
  load: () => Promise<Constructor<Client>>,
  options: ClientOptions,
): (() => Promise<Client>) => once(async () => awsClient(await load(), options));

/** How long each try of a call may take. */
export const timeouts = (times: { connectionMs: number; requestMs: number }): ClientOptions => ({
  requestHandler: {
    connectionTimeout: times.connectionMs,
    requestTimeout: times.requestMs,
    throwOnRequestTimeout: true,
  },
});
