import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBMaterializedResult,
} from '@duckdb/node-api';
import { inFolder } from '../folder.ts';

/** A cell of a result: statements give text and numbers, and cast all else. */
export type SqlValue = string | number | null;

export type SqlEngine = {
  /** Runs one or more statements. Bound values are named `$1`, `$2`, …, and only a single statement can have them. */
  run(statement: string, values?: readonly SqlValue[]): Promise<void>;
  /** The rows of a statement that has few. */
  all<Row extends readonly SqlValue[]>(statement: string, values?: readonly SqlValue[]): Promise<Row[]>;
  /** The first row of a statement that has few. */
  row<Row extends readonly SqlValue[]>(
    statement: string,
    values?: readonly SqlValue[],
  ): Promise<Row | undefined>;
  /** The rows of a statement that has many, in batches. */
  rows<Row extends readonly SqlValue[]>(
    statement: string,
    values?: readonly SqlValue[],
  ): AsyncGenerator<Row[], void, undefined>;
  /** Adds rows to a table, whose columns are of text or take the text of a number. */
  add(table: string, rows: readonly (readonly (string | null)[])[]): Promise<void>;
  close(): void;
} & Disposable;

export type SqlEngineOptions = {
  /** The only folder whose files it can open. It also writes there what does not fit into memory. */
  folder: string;
  memoryMb?: number;
  threads?: number;
  spillMb?: number;
  /** A single statement is ended after this. */
  timeoutMs?: number;
  /** All statements together take no longer, counted from the opening. */
  totalMs?: number | undefined;
  /** Called after each statement that `run` has run. */
  onRun?(): void;
};

/** Its message is for people. */
export class SqlEngineTooSlowError extends Error {
  override name = 'SetEngineTooSlow';
  constructor(totalMs: number, options?: ErrorOptions) {
    super(`The comparison takes longer than ${Math.round(totalMs / 1_000)} seconds`, options);
  }
}

/** Quotes the name of a column or table, with any characters. */
export const quotedName = (name: string): string => {
  if (name.includes('\u0000')) throw new Error('A name in a statement must not contain a zero byte');
  return `"${name.replaceAll('"', '""')}"`;
};

/** A text in a statement that takes no bound values. Never use it for a cell or a column name of a file. */
export const quotedText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/**
 * Opens DuckDB in memory. It opens no file outside of the folder, no network and no extension, and its settings cannot be changed
 * afterwards, whatever a statement says. It is loaded when it is first needed.
 */
export const openSqlEngine = async (options: SqlEngineOptions): Promise<SqlEngine> => {
  const instance = await openInstance(options);
  const connection = await instance.connect();
  const engine = new DuckDbEngine({ instance, connection, options });
  try {
    await connection.run(`SET allowed_directories = [${quotedText(`${options.folder}/`)}];
      SET enable_external_access = false; SET lock_configuration = true`);
  } catch (error) {
    engine.close();
    throw error;
  }
  return engine;
};

const openInstance = async ({
  folder,
  memoryMb = 384,
  threads = 2,
  spillMb = 6_000,
}: SqlEngineOptions): Promise<DuckDBInstance> => {
  // Otherwise the engine's allocator keeps freed memory for ten seconds, beside new memory: up to 200 MB in a large comparison.
  // biome-ignore lint/style/noProcessEnv: the allocator reads its settings from nowhere else.
  process.env.DUCKDB_JE_MALLOC_CONF ??= 'dirty_decay_ms:50,muzzy_decay_ms:0';
  // A bundle has only the default export.
  const { DuckDBInstance } = (await import('@duckdb/node-api')).default;
  const spill = join(folder, 'spill');
  mkdirSync(spill, { recursive: true });
  return DuckDBInstance.create(':memory:', {
    memory_limit: `${memoryMb}MB`,
    threads: String(threads),
    temp_directory: spill,
    max_temp_directory_size: `${spillMb}MB`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_unsigned_extensions: 'false',
    preserve_insertion_order: 'false',
  });
};

type Opened = { instance: DuckDBInstance; connection: DuckDBConnection; options: SqlEngineOptions };

class DuckDbEngine implements SqlEngine {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #limits: TimeLimits;
  readonly #onRun: SqlEngineOptions['onRun'];
  /** Each statement whose rows are read has its own connection, so that others can run at the same time. */
  readonly #readers: DuckDBConnection[] = [];

  constructor({ instance, connection, options }: Opened) {
    this.#instance = instance;
    this.#connection = connection;
    this.#limits = new TimeLimits(options);
    this.#onRun = options.onRun;
  }

  async run(statement: string, values?: readonly SqlValue[]): Promise<void> {
    await this.#ask(statement, values);
    this.#onRun?.();
  }

  async all<Row extends readonly SqlValue[]>(
    statement: string,
    values?: readonly SqlValue[],
  ): Promise<Row[]> {
    const result = await this.#ask(statement, values);
    return (await result.fetchAllChunks()).flatMap((chunk) => rowsIn<Row>(chunk));
  }

  async row<Row extends readonly SqlValue[]>(
    statement: string,
    values?: readonly SqlValue[],
  ): Promise<Row | undefined> {
    return (await this.all<Row>(statement, values))[0];
  }

  async *rows<Row extends readonly SqlValue[]>(
    statement: string,
    values: readonly SqlValue[] = [],
  ): AsyncGenerator<Row[], void, undefined> {
    const reader = this.#readers.pop() ?? (await this.#instance.connect());
    const limits = this.#limits;
    let isRead = false;
    try {
      // A statement that fails while its rows are read looks like their end (node-api 1.5.5). Only its transaction reports the failure.
      await reader.run('BEGIN');
      const result = await limits.apply(reader, () => reader.stream(statement, [...values]));
      for (;;) {
        const chunk = await limits.apply(reader, () => result.fetchChunk());
        const isEnd = chunk === null || chunk.rowCount === 0;
        if (chunk === null || isEnd) {
          await limits.apply(reader, () => reader.run('SELECT 1; ROLLBACK')).catch(brokenOff);
          isRead = true;
          return;
        }
        yield rowsIn<Row>(chunk);
      }
    } finally {
      if (isRead) this.#readers.push(reader);
      else reader.closeSync();
    }
  }

  async add(table: string, rows: readonly (readonly (string | null)[])[]): Promise<void> {
    const appender = await this.#connection.createAppender(table);
    for (const row of rows) {
      for (const text of row)
        if (text === null) appender.appendNull();
        else appender.appendVarchar(text);
      appender.endRow();
    }
    appender.closeSync();
  }

  close(): void {
    for (const each of [this.#connection, ...this.#readers]) each.closeSync();
    this.#instance.closeSync();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #ask(statement: string, values?: readonly SqlValue[]): Promise<DuckDBMaterializedResult> {
    const connection = this.#connection;
    return this.#limits.apply(connection, () => connection.run(statement, values && [...values]));
  }
}

/** Interrupts a statement that takes too long, by itself or together with those before it. */
class TimeLimits {
  readonly #timeoutMs: number;
  readonly #totalMs: number;
  readonly #endsMs: number;
  /** A timer may fire a little early, so the clock cannot tell afterwards that the time is over. */
  #isOver = false;

  constructor({ timeoutMs = 600_000, totalMs = Number.POSITIVE_INFINITY }: SqlEngineOptions) {
    this.#timeoutMs = timeoutMs;
    this.#totalMs = totalMs;
    this.#endsMs = performance.now() + totalMs;
  }

  async apply<Result>(connection: DuckDBConnection, work: () => Promise<Result>): Promise<Result> {
    const leftMs = this.#endsMs - performance.now();
    if (this.#isOver || leftMs <= 0) throw new SqlEngineTooSlowError(this.#totalMs);
    const interrupt = (): void => {
      if (leftMs <= this.#timeoutMs) this.#isOver = true;
      connection.interrupt();
    };
    const timer = setTimeout(interrupt, Math.min(this.#timeoutMs, leftMs));
    try {
      return await work();
    } catch (error) {
      throw this.#isOver ? new SqlEngineTooSlowError(this.#totalMs, { cause: error }) : withoutValue(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

const rowsIn = <Row extends readonly SqlValue[]>(chunk: DuckDBDataChunk): Row[] =>
  chunk.convertRows(plainValue) as unknown as Row[];

/** Works with an engine of one thread in a folder of its own: Lambda gives a function of little memory no more than one processor. */
export const withSqlEngine = <Result>(
  work: (db: SqlEngine, folder: string) => Promise<Result>,
  options: Pick<SqlEngineOptions, 'memoryMb' | 'spillMb'> = {},
): Promise<Result> =>
  inFolder(async (folder) => {
    using db = await openSqlEngine({ folder, threads: 1, ...options });
    return await work(db, folder);
  });

/** The engine quotes a value that it cannot use, or the line that has it. Whoever logs the error must not log these. */
const withoutValue = (error: unknown): unknown => {
  const message = error instanceof Error ? error.message : '';
  const [type] = /^(?:Conversion|Constraint|Out of Range|Mismatch Type) Error/.exec(message) ?? [];
  const isQuoting = type !== undefined || message.includes('Original Line:');
  return isQuoting ? new Error(`${type ?? 'CSV Error'}: a value cannot be used`) : error;
};

const brokenOff = (cause: unknown): never => {
  if (cause instanceof SqlEngineTooSlowError) throw cause;
  throw new Error(
    'The SQL engine stopped a statement before it read all rows: it had too little memory, disk or time, or a value is not valid',
    { cause },
  );
};

const plainValue = (value: unknown): SqlValue => {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' ? value : String(value);
};
