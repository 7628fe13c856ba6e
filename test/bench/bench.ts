import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { arch, cpus, loadavg, platform, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { bundle, functionNames } from '../../esbuild.config.ts';
import { integration } from '../../functions/enrollment-create.ts';
import { createCrosswalk } from '../../lib/delivery/crosswalk/look-up.ts';
import { bucketOf, type Entries } from '../../lib/delivery/crosswalk/table.ts';
import { draftOf } from '../../lib/message/message.ts';
import type { Platform } from '../../lib/platform/client/client.ts';
import { writePart } from '../documents.ts';
import { startStack } from '../local/stack.ts';
import { optionsOf } from '../options.ts';
import type { DriveAnswered, DriveAsked } from './driver.ts';
import { launch, type Program } from './processes.ts';
import type { Servers, ServersAsked } from './servers.ts';

/** What was measured: the median of the repeats, and the quartiles, between which half of them lie. */
export type Spread = { median: number; low: number; high: number };

/** A figure with its limit. */
export type Row = { what: string; floor: string; measured: Spread; unit: string; holds: boolean };

export const spreadOf = (values: number[]): Spread => {
  const sorted = values.toSorted((one, other) => one - other);
  const quantile = (part: number): number => {
    const at = (sorted.length - 1) * part;
    const [below = Number.NaN, above = below] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
    return below + (above - below) * (at - Math.floor(at));
  };
  return { median: quantile(0.5), low: quantile(0.25), high: quantile(0.75) };
};

const limited = (what: string, [limit, unit]: readonly [number, string], values: number[]): Row => {
  const measured = spreadOf(values);
  const floor = `≤ ${limit} ${unit}`;
  return { what, floor, measured, unit: /^[×]/.test(unit) ? '' : unit, holds: measured.median <= limit };
};

/** By how much ours exceeds theirs, by the repeats’ own ratios: what slowed the machine down slowed down both. */
export const timesLimited = (
  what: string,
  [limit, peer]: readonly [number, string],
  [ours = [], theirs = []]: readonly (readonly number[] | undefined)[],
): Row =>
  limited(
    what,
    [limit, `× ${peer}`],
    ours.map((value, at) => value / (theirs[at] ?? Number.NaN)),
  );

/** How much of everything is measured. */
type Scale = {
  /** Fresh processes of each, as no two are compiled alike, and the repeats in each. */
  launches: number;
  rounds: number;
  warmUps: number;
  messages: number;
  uploadBytes: number;
  /** Messages after which a container is warm, and as many again ten times over. */
  growth: number;
  functions: readonly string[];
  users: number;
};

const full: Scale = {
  ...{ launches: 3, rounds: 10, warmUps: 30, messages: 500 },
  ...{ uploadBytes: 2 ** 30, growth: 10_000, functions: functionNames, users: 20_000 },
};
const quick: Scale = {
  ...{ launches: 1, rounds: 6, warmUps: 5, messages: 500 },
  ...{ uploadBytes: 2 ** 28, growth: 2_000, functions: ['grade-push'], users: 20_000 },
};
/** As little as runs through all of it. */
export const tiny: Scale = {
  ...{ launches: 1, rounds: 1, warmUps: 0, messages: 10 },
  ...{ uploadBytes: 2 ** 20, growth: 10, functions: ['grade-push'], users: 100 },
};

/** Repeats that take turns, in alternating order: what else the machine does falls on all alike. */
const interleaved = async <Value>(
  measures: Record<string, () => Promise<Value>>,
  { rounds, warmUps }: { rounds: number; warmUps: number },
): Promise<Record<string, Value[]>> => {
  const all = Object.entries(measures);
  const values: Record<string, Value[]> = {};
  for (let round = 0; round < warmUps + rounds; round += 1)
    for (const [name, measure] of round % 2 === 0 ? all : all.toReversed()) {
      const value = await measure();
      if (round >= warmUps) values[name] = [...(values[name] ?? []), value];
    }
  return values;
};

type Environment = {
  /** The address of a function’s bundle, as the packaging makes it. */
  bundled(name: string): Promise<string>;
  settings: Record<string, string>;
  withLedger: Record<string, string>;
  setLatency(latencyMs: number): Promise<Servers>;
  close(): Promise<void>;
};

const startEnvironment = async (): Promise<Environment> => {
  const folder = mkdtempSync(join(tmpdir(), 'sis-relay-bench-'));
  const program = launch<ServersAsked, Servers>({ program: new URL('servers.ts', import.meta.url) });
  const setLatency = (latencyMs: number) => program.ask({ latencyMs });
  const servers = await setLatency(0);
  // A letter or a visibility would be a failure of the bench: it fails at once, instead of going to the real queues.
  const nowhere = 'http://127.0.0.1:9';
  const settings = {
    ...{ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'bench', AWS_SECRET_ACCESS_KEY: 'bench' },
    ...{ AWS_LAMBDA_FUNCTION_NAME: 'bench', AWS_ENDPOINT_URL_SQS: nowhere },
    AWS_ENDPOINT_URL_SECRETS_MANAGER: servers.secretsManager,
    AWS_ENDPOINT_URL_S3: servers.s3,
    ...{ PLATFORM_URL: servers.platform, SECRET_PREFIX: 'bench' },
    QUEUE_URL: `${nowhere}/000000000000/sis-relay-bench`,
    DEAD_LETTER_QUEUE_URL: `${nowhere}/000000000000/sis-relay-dead-letters`,
  };
  return {
    settings,
    setLatency,
    withLedger: {
      ...settings,
      ...{ LEDGER_TABLE: 'ledger', LEDGER_KEY_SECRET: 'bench/ledger-key' },
      AWS_ENDPOINT_URL_DYNAMODB: servers.dynamodb,
    },
    bundled: async (name) => {
      const codeDir = join(folder, name);
      await bundle(name, { codeDir, mapDir: `${codeDir}-maps` });
      return pathToFileURL(join(codeDir, 'functions', `${name}.mjs`)).href;
    },
    close: async () => {
      await program.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

type Subject = { module: string; env: Record<string, string> };

/** A handler in a process of its own. What it does not acknowledge costs nothing, so it fails the measurement. */
export const startDriver = ({ module, env }: Subject): Program<DriveAsked, DriveAnswered> => {
  const driver = launch<DriveAsked, DriveAnswered>({
    ...{ program: new URL('driver.ts', import.meta.url), parameters: [module], env },
    execArgv: ['--expose-gc'],
  });
  return {
    ...driver,
    ask: async (asked) => {
      const answer = await driver.ask(asked);
      if (answer.failed === 0) return answer;
      throw new Error(`${answer.failed} of ${asked.messages} messages failed: ${driver.lastOutput()}`);
    },
  };
};

const withDrivers = async <Result>(
  subjects: readonly Subject[],
  work: (...drivers: Program<DriveAsked, DriveAnswered>[]) => Promise<Result>,
): Promise<Result> => {
  const drivers = subjects.map(startDriver);
  try {
    return await work(...drivers);
  } finally {
    await Promise.all(drivers.map((driver) => driver.close()));
  }
};

const cpuUs = ({ cpuMs, messages }: DriveAnswered): number => (cpuMs * 1000) / messages;
/** Three times what it was when the SDK's client wrote the ledger. */
const minRate = 1_584;

/** A message through the whole handler: parsed, claimed, signed, sent, counted and logged to a pipe that is read. */
const measureMessages = async (environment: Environment, scale: Scale): Promise<Row[]> => {
  const raw = new URL('raw-undici.ts', import.meta.url).href;
  const ours = await environment.bundled('grade-push');
  const rows: Row[] = [];
  for (const [named, env, limit] of [
    ['', environment.withLedger, 2.2],
    [' without the ledger', environment.settings, 1.5],
  ] as const) {
    const answers: Record<string, DriveAnswered[]> = {};
    for (let at = 0; at < scale.launches; at += 1)
      await withDrivers(
        [
          { module: ours, env },
          { module: raw, env },
        ],
        async (ourDriver, rawDriver) => {
          for (const latency of [0, 20]) {
            await environment.setLatency(latency);
            const asked: DriveAsked = { kind: 'grade-push', batchSize: 10, messages: scale.messages };
            const measured = await interleaved(
              {
                [`ours ${latency}`]: async () => ourDriver?.ask(asked) as Promise<DriveAnswered>,
                [`raw ${latency}`]: async () => rawDriver?.ask(asked) as Promise<DriveAnswered>,
              },
              // What is warm stays so.
              { rounds: scale.rounds, warmUps: latency === 0 ? scale.warmUps : 1 },
            );
            for (const [name, all] of Object.entries(measured))
              answers[name] = [...(answers[name] ?? []), ...all];
          }
          await environment.setLatency(0);
        },
      );
    for (const latency of [0, 20])
      rows.push(
        timesLimited(
          `CPU a message${named}, the platform answers after ${latency} ms`,
          [limit, 'raw undici'],
          [answers[`ours ${latency}`]?.map(cpuUs), answers[`raw ${latency}`]?.map(cpuUs)],
        ),
      );
    if (named !== '') continue;
    const unit = 'messages/s';
    const measured = spreadOf(
      (answers['ours 0'] ?? []).map(({ wallMs, messages }) => (messages * 1000) / wallMs),
    );
    const floor = `≥ ${minRate.toLocaleString('en')} ${unit}`;
    const holds = measured.median >= minRate;
    rows.push({ what: 'Messages in one container', floor, measured, unit, holds });
  }
  return rows;
};

/** One large file, from S3 to the platform, after two small ones. A process that has grown once does not grow again. */
const measureUpload = async (environment: Environment, { uploadBytes }: Scale): Promise<Row[]> => {
  const module = await environment.bundled('submission-upload');
  const asked = { kind: 'submission-upload', messages: 1, batchSize: 1 } as const;
  const grown: number[] = [];
  for (let repeat = 0; repeat < 3; repeat += 1)
    await withDrivers([{ module, env: environment.settings }], async (driver) => {
      for (const fileBytes of [1024, 1024, uploadBytes]) {
        const answer = await driver?.ask({ ...asked, fileBytes });
        if (answer && fileBytes === uploadBytes) grown.push(answer.grownBytes / 1e6);
      }
    });
  return [limited(`Memory of an upload of ${uploadBytes / 2 ** 20} MiB`, [80, 'MB'], grown)];
};

/** Whether a container that has handled much pays more for each message, or keeps more. */
const measureGrowth = async (environment: Environment, { growth }: Scale): Promise<Row[]> => {
  const module = await environment.bundled('grade-push');
  return withDrivers([{ module, env: environment.settings }], async (driver) => {
    const asked = { kind: 'grade-push', batchSize: 10, messages: growth } as const;
    const answers: DriveAnswered[] = [];
    for (let part = 0; part <= 10; part += 1) {
      const answer = await driver?.ask(asked);
      // Apart from the messages: those after a collection of everything pay for it.
      const after = await driver?.ask({ ...asked, messages: 0, collects: true });
      if (part > 0 && answer && after) answers.push({ ...answer, heapBytes: after.heapBytes });
    }
    const [first, last] = [answers.slice(0, 3), answers.slice(-3)];
    const ratios = (value: (answer: DriveAnswered) => number) => [last.map(value), first.map(value)] as const;
    const before = 'when it was warm';
    return [
      timesLimited('CPU a message after ten times as many', [1.1, before], ratios(cpuUs)),
      timesLimited(
        'Heap after ten times as many',
        [1.1, before],
        ratios(({ heapBytes }) => heapBytes),
      ),
    ];
  });
};

/** What a message pays that gives the SIS' ids, once its container knows what they stand for. */
const measureLookUps = async (_: Environment, { users, rounds }: Scale): Promise<Row[]> => {
  const orgUnitCode = 'MATH-101';
  const names = Array.from({ length: users }, (_, at) => `user-${at}`);
  const buckets = new Map<string, Entries>([
    [bucketOf('orgUnitCode', 'platform', orgUnitCode), new Map([[orgUnitCode, { ids: [2001] }]])],
  ]);
  for (const [at, name] of names.entries()) {
    const bucket = bucketOf('userName', 'file', name);
    buckets.set(bucket, new Map(buckets.get(bucket)).set(name, { ids: [at + 1] }));
  }
  const crosswalk = createCrosswalk({ table: { namesIn: async () => buckets }, nowMs: Date.now });
  const bodyOf = (data: object): string =>
    JSON.stringify({
      ...{ specversion: '1.0', id: '4711', source: '/sis', type: 'sis.enrollment-create.v1' },
      ...{ time: '2026-01-31T09:30:00Z', data: { ...data, roleId: 110 } },
    });
  const read = (bodies: string[]) => async (): Promise<number> => {
    const before = process.cpuUsage();
    for (const body of bodies) {
      const { sisIds, message } = draftOf(body, integration, Date.now());
      const asked = { platform: {} as Platform, orgUnitId: undefined };
      message(sisIds.length > 0 ? await crosswalk.platformIds(sisIds, asked) : undefined);
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / bodies.length;
  };
  const byName = read(names.map((userName) => bodyOf({ orgUnitCode, userName })));
  const byId = read(names.map((_, at) => bodyOf({ orgUnitId: 2001, userId: at + 1 })));
  // The first round fills the cache.
  const { named = [], known = [] } = await interleaved(
    { named: byName, known: byId },
    { rounds, warmUps: 1 },
  );
  const added = named.map((each, at) => Math.max(0, each - (known[at] ?? 0)));
  return [limited('CPU that the SIS’ ids add to a message', [30, 'µs'], added)];
};

const emptyNode = 'an empty Node';
const bin = resolve(import.meta.dirname, '../../lib/show/cli/sis-relay.js');

/** Processes of their own: the import of each packaged function, and the command, with a stack like that of `npm run local`. */
const measureProcesses = async (environment: Environment, { functions, rounds }: Scale): Promise<Row[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'sis-relay-bench-'));
  const stack = await startStack({ functions: false });
  const file = join(folder, 'stack.json');
  writeFileSync(file, JSON.stringify(stack.description));
  const commands = {
    [emptyNode]: ['-e', ''],
    '`--version`': [bin, '--version'],
    '`letters list`': [bin, 'letters', 'list', '--stack', file],
    '`status`': [bin, 'status', '--stack', file],
  };
  const imports: Record<string, string[]> = {};
  for (const name of functions) {
    const code = `await import(${JSON.stringify(await environment.bundled(name))}); process.exit()`;
    imports[name] = ['--input-type=module', '-e', code];
  }
  try {
    const measures = Object.entries({ ...commands, ...imports }).map(([name, words]) => [
      name,
      () => processCpuMs(words, environment.withLedger),
    ]);
    // In the first round Node compiles what it keeps for the others.
    const values = await interleaved<number>(Object.fromEntries(measures), { rounds, warmUps: 1 });
    const times = (limit: number, name: string, what = `CPU of ${name}`) =>
      timesLimited(what, [limit, emptyNode], [values[name], values[emptyNode]]);
    const within = (limitMs: number, name: string) =>
      limited(`CPU of ${name}`, [limitMs, 'ms'], values[name] ?? []);
    const slowest = functions
      .map((name) => times(6, name, `CPU of the import of ${name}, the slowest of ${functions.length}`))
      .toSorted((one, other) => other.measured.median - one.measured.median)
      .slice(0, 1);
    return [
      ...slowest,
      ...[within(250, '`--version`'), times(4, '`--version`')],
      ...[within(700, '`letters list`'), times(20, '`letters list`'), within(700, '`status`')],
    ];
  } finally {
    await stack.close();
    rmSync(folder, { recursive: true });
  }
};

/** CPU that a Node with these arguments takes, by what it reports when it exits. */
const processCpuMs = async (words: string[], env: Record<string, string>): Promise<number> => {
  const child = spawn(process.execPath, ['--require', resolve(import.meta.dirname, 'cpu.cjs'), ...words], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
  });
  const [cpuMs, complaints, [status]] = await Promise.all([
    text(child.stdio[3] as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, 'exit'),
  ]);
  // 1: there are no letters.
  if (status > 1 || complaints.includes('Error')) throw new Error(`${words.join(' ')}: ${complaints}`);
  return Number(cpuMs);
};

const parts = {
  ...{ messages: measureMessages, upload: measureUpload, growth: measureGrowth },
  ...{ 'look-ups': measureLookUps, processes: measureProcesses },
};
type Part = keyof typeof parts;
const partNames = Object.keys(parts) as Part[];

/** Measures everything, or `only` some of it, and prints each figure. */
export const bench = async (
  scale: Scale,
  { print, only = partNames }: { print(text: string): void; only?: readonly Part[] },
): Promise<Row[]> => {
  const environment = await startEnvironment();
  const rows: Row[] = [];
  try {
    for (const part of only)
      for (const row of await parts[part](environment, scale)) {
        rows.push(row);
        print(`${row.holds ? '✓' : '✗'} ${row.what}: ${shownIn(row)}, ${row.floor}`);
      }
  } finally {
    await environment.close();
  }
  return rows;
};

const shownIn = ({ measured: { median, low, high }, unit }: Row): string => {
  const number = (value: number): string =>
    value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : 0 });
  return `${number(median)}${unit && ` ${unit}`} (${number(low)}–${number(high)})`;
};

/** What test/README.md shows. `loads`: load averages, before and after; more than 1 a core means that others were at work. */
export const tableOf = (rows: Row[], loads: number[]): string =>
  [
    '',
    '| what | limit | measured | |',
    '| --- | --- | --- | --- |',
    ...rows.map((row) => {
      const end = row.holds ? 'holds' : '**does not hold**';
      return `| ${row.what} | ${row.floor} | ${shownIn(row)} | ${end} |`;
    }),
    '',
    `On ${new Date().toISOString().slice(0, 10)} with Node ${process.versions.node} on ${platform()} ${arch()}, ${cpus().length} × ${cpus()[0]?.model.trim()}, load average ${loads.map((load) => load.toFixed(1)).join(' to ')}.`,
    '',
  ].join('\n');

/** `npm run bench`: writes test/README.md; `--quick` and `--only` do not. The exit status is 0 exactly if every limit holds. */
export const command = async (): Promise<void> => {
  const usage = `npm run bench -- --quick --only ${partNames.join('|')}`;
  const options = { quick: { type: 'boolean' }, only: { type: 'string' } } as const;
  const { quick: isQuick, only } = optionsOf(options, { usage });
  const wanted = partNames.filter((part) => only === undefined || part === only);
  if (wanted.length === 0) {
    console.error(`There is no part ${only}. ${usage}`);
    process.exitCode = 2;
    return;
  }
  const [before = 0] = loadavg();
  const rows = await bench(isQuick ? quick : full, { print: console.log, only: wanted });
  const [after = 0] = loadavg();
  if (!isQuick && only === undefined) writePart('benchmarks', tableOf(rows, [before, after]));
  const held = rows.filter(({ holds }) => holds).length;
  console.log(`${held} of ${rows.length} floors hold; load average ${after.toFixed(1)}`);
  process.exitCode = held === rows.length ? 0 : 1;
};
