import { type Container, type FunctionConfiguration, startContainer } from './container.ts';
import type { DurableExecutions, DurableOptions } from './durable-executions.ts';
import { startWatchdog } from './process.ts';
import type { InvokeResult } from './runtime-api.ts';

export type { FunctionConfiguration } from './container.ts';
export type { InvokeResult } from './runtime-api.ts';

type LambdaOptions = {
  functions: Record<string, FunctionConfiguration>;
  onLog?(functionName: string, line: string): void;
  /** What carries on the executions of those functions that are durable. */
  executions?: DurableExecutions;
};

type Pool = {
  configuration: FunctionConfiguration;
  containers: Set<Container>;
  idle: Container[];
  /** Those that take no further invocation. */
  retired: WeakSet<Container>;
  inFlight: number;
  waiting: (() => void)[];
};

export type Lambda = Awaited<ReturnType<typeof startLambda>>;

/** AWS Lambda on this machine: each concurrent invocation of a function has a process of its own, kept for the next. */
export async function startLambda({ functions, onLog = () => {}, executions }: LambdaOptions) {
  const watchdog = startWatchdog();
  const pools = new Map(
    Object.entries(functions).map(([name, configuration]) => [name, newPool(configuration)]),
  );
  let closed = false;

  function poolOf(name: string): Pool {
    const pool = pools.get(name);
    if (!pool) throw new Error(`There is no function ${name}, only ${[...pools.keys()].join(', ')}`);
    return pool;
  }

  function start(name: string, { configuration, containers }: Pool): Container {
    const container = startContainer({
      name,
      configuration,
      watchdog,
      onLog: (line) => onLog(name, line),
    });
    containers.add(container);
    container.ended.then(() => containers.delete(container));
    return container;
  }

  async function invokeOnce(name: string, event: unknown): Promise<InvokeResult> {
    const pool = poolOf(name);
    await turn(pool);
    try {
      if (closed)
        return { ok: false, error: { errorType: 'ServiceException', errorMessage: 'Lambda is closed' } };
      const container = takeIdle(pool) ?? start(name, pool);
      const result = await container.invoke(event);
      if (pool.retired.has(container)) container.end();
      else if (container.alive) pool.idle.push(container);
      return result;
    } finally {
      nextTurn(pool);
    }
  }

  return {
    /**
     * Beyond the function's maximum concurrency, invocations wait for their turn. Of a durable function it is a whole
     * execution, and its end is what is answered; it may be given a name, or have begun elsewhere.
     */
    async invoke(
      name: string,
      event: unknown,
      execution?: string | Pick<DurableOptions, 'begun'>,
    ): Promise<InvokeResult> {
      const { durable } = poolOf(name).configuration;
      const own = typeof execution === 'string' ? { name: execution } : execution;
      if (!durable) return invokeOnce(name, event);
      if (!executions) throw new Error(`${name} is durable, and nothing carries its executions on`);
      return executions.run(event, { ...durable, ...own }, (each) => invokeOnce(name, each));
    },

    containers(name: string): { pid: number; busy: boolean }[] {
      return living(poolOf(name)).map(({ pid = 0, busy }) => ({ pid, busy }));
    },

    /** Sends the signal to one of the function's processes, chosen at random; undefined when there is none. */
    kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): number | undefined {
      const pool = poolOf(name);
      const candidates = living(pool);
      const chosen = candidates[Math.floor(Math.random() * candidates.length)];
      // Its end is known some milliseconds later only, and an invocation that came until then would end with it.
      if (chosen && signal !== 'SIGSTOP') pool.retired.add(chosen);
      chosen?.signal(signal);
      return chosen?.pid;
    },

    /** Makes the next invocation a cold start, with this environment if one is given; invocations under way finish. */
    async recycle(name: string, env?: Record<string, string>): Promise<void> {
      const pool = poolOf(name);
      if (env) pool.configuration = { ...pool.configuration, env };
      const old = [...pool.containers];
      for (const container of old) pool.retired.add(container);
      for (const container of pool.idle.splice(0)) container.end();
      await Promise.all(old.map(({ ended }) => ended));
    },

    /** Ends every process; invocations under way fail as if they had been killed. */
    async close(): Promise<void> {
      closed = true;
      const all = [...pools.values()].flatMap(({ containers }) => [...containers]);
      for (const container of all) container.end();
      await Promise.all(all.map(({ ended }) => ended));
      await watchdog.close();
    },
  };
}

function newPool(configuration: FunctionConfiguration): Pool {
  return { configuration, containers: new Set(), idle: [], retired: new WeakSet(), inFlight: 0, waiting: [] };
}

async function turn(pool: Pool): Promise<void> {
  if (pool.inFlight >= pool.configuration.maximumConcurrency) {
    await new Promise<void>((resolve) => pool.waiting.push(resolve));
  } else pool.inFlight += 1;
}

/** The one who finishes hands its place on, so that nobody else can slip in. */
function nextTurn(pool: Pool) {
  const next = pool.waiting.shift();
  if (next) next();
  else pool.inFlight -= 1;
}

function takeIdle({ idle, retired }: Pool): Container | undefined {
  for (let container = idle.pop(); container; container = idle.pop()) {
    if (container.alive && !retired.has(container)) return container;
  }
  return undefined;
}

function living({ containers }: Pool): Container[] {
  return [...containers].filter(({ alive, pid }) => alive && pid !== undefined);
}
