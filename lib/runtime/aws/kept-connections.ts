import { type Dispatcher, Pool } from 'undici';

type Options = {
  /** Time for which an idle connection is reused, in milliseconds. */
  keepAliveMs: number;
  connectTimeoutMs: number;
  /** From the end of a request to the headers of its answer; 0: no limit. */
  headersTimeoutMs: number;
  /** Between two pieces of the answer's body; 0: no limit. */
  bodyTimeoutMs: number;
};

export const connectionSettings = (options: Options): Pool.Options => ({
  headersTimeout: options.headersTimeoutMs,
  bodyTimeout: options.bodyTimeoutMs,
  keepAliveTimeout: options.keepAliveMs,
  // Otherwise a server's own hint may make it ten minutes.
  keepAliveMaxTimeout: options.keepAliveMs,
  // One call per connection: otherwise a lost connection ends all calls on it, and nobody can tell which took effect.
  allowH2: false,
  connect: { timeout: options.connectTimeoutMs },
});

/**
 * Connections to a scheme, host and port. A frozen function cannot tell a connection that was closed meanwhile from a lost answer, so
 * none is used that was idle for too long.
 */
export class KeptConnections {
  readonly #origin: string;
  readonly #options: Options;
  #pool: Pool;
  #underWay = 0;
  #idleSinceMs = Date.now();

  constructor(origin: string, options: Options) {
    this.#origin = origin;
    this.#options = options;
    this.#pool = new Pool(origin, connectionSettings(options));
  }

  /** Call `release` after the answer. */
  take(): Dispatcher {
    if (this.#underWay === 0 && Date.now() - this.#idleSinceMs > this.#options.keepAliveMs) {
      void this.#pool.destroy();
      this.#pool = new Pool(this.#origin, connectionSettings(this.#options));
    }
    this.#underWay += 1;
    return this.#pool;
  }

  release(): void {
    this.#underWay -= 1;
    this.#idleSinceMs = Date.now();
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
