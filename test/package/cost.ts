import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { maxSteps } from '../../lib/delivery/durable/work-list.ts';
import { writePart } from '../documents.ts';
import { optionsOf } from '../options.ts';
import { alarmsIn, type Deployment, deploy } from './cloudformation.ts';

/**
 * List prices of us-east-1 in US dollars, without free tiers and taxes, as they were published in November 2026: all that
 * the chapter on costs in lib/operate/stage/README.md is computed from.
 */
const prices = {
  /** A million of each. */
  lambdaRequest: 0.2,
  sqsRequest: 0.4,
  tableWrite: 0.625,
  tableRead: 0.125,
  secretRead: 5,
  fileRead: 0.4,
  fileWrite: 5,
  pipeRequest: 0.4,
  destinationRequest: 0.2,
  durableOperation: 8,
  /** arm64. */
  lambdaGigabyteSecond: 0.0000133334,
  logGigabyte: 0.5,
  durableGigabyteWritten: 0.25,
  /** A month of each. */
  metric: 0.3,
  alarm: 0.1,
  compositeAlarm: 0.5,
  dashboard: 3,
  secret: 0.4,
  durableGigabyte: 0.15,
  tableGigabyte: 0.25,
};

/** What whole batches of a packaged function took in the local Lambda: times by batch, all else by message. */
export type MeasuredFunction = {
  function: string;
  batchSize: number;
  /** As SQS counts them. */
  messageBytes: number;
  memoryMb: number;
  wallMs: number;
  cpuMs: number;
  /** The most memory that the container's process took. */
  peakMb: number;
  /** Of the platform. */
  requests: number;
  /** Of AWS, by the action that each takes. */
  calls: Record<string, number>;
  logBytes: number;
  logLines: number;
  /** So many of CloudWatch's metrics the function writes while all is well. */
  metrics: number;
  /** Of the ledger's item, as DynamoDB counts it. */
  itemBytes: number;
};

type Measurement = {
  latencyMs: number;
  machine: string;
  date: string;
  /** By what the messages are. */
  functions: Record<string, MeasuredFunction>;
  /** The first of them again, in batches that are not full. */
  partial: MeasuredFunction[];
  /** So many of CloudWatch's metrics each function on schedule writes while all is well. */
  scheduleMetrics: Record<string, number>;
};

/** With so much memory a function has one whole CPU; with less, a part of one. */
const memoryOfOneCpuMb = 1_769;
/** What CloudWatch adds to each line, and Lambda's own three lines about an invocation. */
const lineBytes = 26;
const invocationBytes = 400;

/** What Lambda bills for a batch: waiting takes as long there, and computing as much longer as its part of a CPU is smaller. */
export const billedMs = ({ wallMs, cpuMs, memoryMb }: MeasuredFunction): number =>
  Math.round(wallMs - cpuMs + cpuMs / Math.min(1, memoryMb / memoryOfOneCpuMb));

/** DynamoDB bills a write for each KiB of its item. */
const writtenBytes = 1024;
/** SQS takes, hands out and deletes so many messages with a request at most, and bills one for each 64 KB that it carries. */
const sqsBatch = { messages: 10, billedBytes: 64 * 1024 };

/** Of so many messages, by message. */
const sqsRequests = (messages: number, messageBytes: number): number => {
  const requests = Math.ceil(messages / sqsBatch.messages);
  const each = Math.ceil(((messages / requests) * messageBytes) / sqsBatch.billedBytes);
  return (requests * Math.max(1, each)) / messages;
};

/** Dollars for a million messages that all succeed at once; `total` where they are sent singly, `inTens` where ten at a time. */
export const costOf = (measured: MeasuredFunction) => {
  const { batchSize, calls, memoryMb, messageBytes, itemBytes, logBytes, logLines } = measured;
  const batches = 1 / batchSize;
  const gigabyteSeconds = (billedMs(measured) / 1000) * (memoryMb / 1024) * batches * 1_000_000;
  const writes = (calls['dynamodb:UpdateItem'] ?? 0) + (calls['dynamodb:PutItem'] ?? 0);
  const sending = (messages: number): number => prices.sqsRequest * sqsRequests(messages, messageBytes);
  const cost = {
    lambda: prices.lambdaRequest * batches + prices.lambdaGigabyteSecond * gigabyteSeconds,
    // However large a batch is, Lambda receives and deletes ten messages at a time.
    receiving: prices.sqsRequest * (sqsRequests(batchSize, messageBytes) + sqsRequests(batchSize, 0)),
    ledger: prices.tableWrite * writes * Math.ceil(itemBytes / writtenBytes),
    secrets: prices.secretRead * (calls['secretsmanager:GetSecretValue'] ?? 0),
    files: prices.fileRead * (calls['s3:GetObject'] ?? 0),
    logs: prices.logGigabyte * ((logBytes + logLines * lineBytes + invocationBytes * batches) / 1000),
  };
  const rest = Object.values(cost).reduce((sum, each) => sum + each, 0);
  return { ...cost, sending: sending(1), total: rest + sending(1), inTens: rest + sending(10) };
};

/** Dollars for a million messages of one unsigned request each. A pipe to an API destination takes no batches. */
export const pipeCost = (sentAtOnce = 1): number =>
  prices.pipeRequest + prices.destinationRequest + prices.sqsRequest * (1 / sentAtOnce + 2);

/** What a platform grants that allows 50,000 credits a minute, at 10 a call. */
const callsPerSecond = 50_000 / 10 / 60;

/** Dollars for a million calls that wait for their turn: all that while, every container is billed. */
export const waitingCost = (memoryMb: number, containers: number): number =>
  (prices.lambdaGigabyteSecond * (memoryMb / 1024) * containers * 1_000_000) / callsPerSecond;

/** Of the pace: its budget, the use of it, and calls by class; where calls are refused or wait, these by class, too. */
const paceMetrics = { always: 5, most: 11 };
/** What functions call is written down once a minute and container, and once more when its period of five minutes ends. */
const paceWritesPerMinute = 1.2;

/** Dollars for what so many containers write down of a million calls. */
export const paceWritingCost = (containers: number): number => {
  const minutes = 1_000_000 / callsPerSecond / 60;
  return (prices.tableWrite * paceWritesPerMinute * minutes * containers) / 1e6;
};

/** The same for a month in which all of them call all the time, or once a minute. */
const paceMonthlyCost = (containers: number): number =>
  (prices.tableWrite * paceWritesPerMinute * 30 * 24 * 60 * containers) / 1e6;

/** What the desk's table is computed with, which has what operators see of letters and of what waits. */
export const desk = {
  /** Of a record in the table, and again in its index. */
  recordBytes: 1_000,
  /** DynamoDB adds so many to each in what it keeps. */
  keptBytes: 100,
  /** Of the messages that succeed, so many do at a later receipt. */
  receivedAgain: 0.1,
  /** While `publish --wait` waits for a message it is asked for so often, if that takes ten seconds. */
  looks: 20,
};

/** Dollars for a million of each; a record that is in a list is written twice, into the table and into its index. */
export const deskCost = () => {
  const written = Math.ceil(desk.recordBytes / writtenBytes) * prices.tableWrite;
  const listed = 2 * written;
  return {
    /** A first success asks nothing; any other asks whether there is a record to change, eventually consistent. */
    succeeded: (desk.receivedAgain * prices.tableRead) / 2,
    receivedAgain: prices.tableRead / 2,
    wait: listed,
    /** Written, and taken out of the list when it is dealt with. */
    letter: 2 * listed,
    receipt: written + desk.looks * prices.tableRead,
  };
};

/** Dollars for so many records that are in a list for a month. */
export const deskKeepingCost = (records: number): number =>
  (prices.tableGigabyte * records * 2 * (desk.recordBytes + desk.keptBytes)) / 1e9;

/** What an export is computed with; all goes well. */
const anExport = {
  /** Of a course: itself, its classlist, its grade objects and its image, each a request and a file. */
  requests: 4,
  atOnce: 4,
  memoryMb: 1024,
  /** Beside the steps: the execution, whether it is its turn, the begin, the list, the pass and the manifest. */
  otherOperations: 6,
  /** Measured: 1 KB a step, once more for all of a pass. */
  recordBytes: 2_000,
  retentionDays: 14,
};

/** Dollars for an export of so many courses. */
export const exportCostOf = (courses: number, latencyMs: number) => {
  const { requests, atOnce, memoryMb, otherOperations, recordBytes, retentionDays } = anExport;
  const operations = otherOperations + Math.min(courses, maxSteps.first);
  const gigabytes = (operations * recordBytes) / 1e9;
  const seconds = (courses * requests * latencyMs) / 1000 / atOnce;
  const cost = {
    lambda: prices.lambdaGigabyteSecond * seconds * (memoryMb / 1024),
    engine:
      (prices.durableOperation * operations) / 1e6 +
      gigabytes * (prices.durableGigabyteWritten + (prices.durableGigabyte * retentionDays) / 30),
    files: (prices.fileWrite * courses * requests) / 1e6,
  };
  return { operations, ...cost, total: cost.lambda + cost.engine + cost.files };
};

/** Alarms by the metrics that they watch, for which they are billed: those of each integration, and all others. */
export type Counted = {
  alarms: number;
  eachWatched: number;
  ownWatched: number;
  causes: number;
  /** Of a function with a queue. */
  containers: number;
  /** Of all functions with a queue. */
  allContainers: number;
};

/** The tables of lib/operate/stage/README.md. */
export function tablesOf(measurement: Measurement, counted: Counted): string {
  const { functions, partial, scheduleMetrics, latencyMs, machine, date } = measurement;
  const costsIn = (measured: MeasuredFunction): (string | number)[] => {
    const { lambda, receiving, sending, ledger, secrets, files, logs, total, inTens } = costOf(measured);
    const parts = [lambda, sending + receiving, ledger, secrets + files, logs, total, inTens];
    return [measured.batchSize, measured.requests, `${billedMs(measured)} ms`, ...parts.map(dollars)];
  };
  const rowOf = (title: string, measured: MeasuredFunction): (string | number)[] => {
    // A file, or a second request that depends on the first, is beyond it.
    const isForPipes = measured.requests === 1 && measured.calls['s3:GetObject'] === undefined;
    const pipes = isForPipes ? [pipeCost(), pipeCost(10)].map(dollars).join(' / ') : '–';
    return [title, ...costsIn(measured), pipes];
  };
  const rows = Object.entries(functions).flatMap(([title, measured], at) =>
    [measured, ...(at === 0 ? partial : [])].map((each) => rowOf(title, each)),
  );
  const memoryMb = Object.values(functions)[0]?.memoryMb ?? 0;
  const waiting = dollars(waitingCost(memoryMb, counted.containers));
  const costHead = [
    ...['batch', 'requests each', 'billed a batch', 'Lambda', 'SQS', 'ledger', 'secrets, files', 'logs'],
    ...['**together**', '**sent in tens**'],
  ];
  const ofSchedules = Object.values(scheduleMetrics).reduce((sum, each) => sum + each, 0);
  const own =
    counted.ownWatched * prices.alarm +
    counted.causes * prices.compositeAlarm +
    prices.dashboard +
    ofSchedules * prices.metric;
  const metrics = Math.max(...Object.values(functions).map((each) => each.metrics));
  const ofDesk = deskCost();
  return [
    '',
    table(['a million messages of', ...costHead, 'Pipes + API destinations'], rows),
    `Measured on ${date} on ${machine} with the packaged functions in the local Lambda. The platform answers after`,
    `${latencyMs} ms, and everything succeeds at once. CPU time is scaled to the part of a CPU that the function’s memory buys.`,
    'Pipes + API destinations: sent singly / in tens.',
    '',
    table(
      ['what else', 'cost'],
      [
        [
          `a million calls that wait for their turn, at ${Math.floor(callsPerSecond)} a second: ${(1_000_000 / callsPerSecond / 3600).toFixed(1)} hours of the ${counted.containers} containers of one function with ${memoryMb} MB, instead of the cost of Lambda above`,
          waiting,
        ],
        [
          `a million calls reported for \`sis-relay status\` by all ${counted.allContainers} containers`,
          `$${paceWritingCost(counted.allContainers).toFixed(4)}, at most ${dollars(paceMonthlyCost(counted.allContainers))} a month`,
        ],
        [
          `a million messages that succeed, ${desk.receivedAgain * 100}% of them not at their first receipt, in the table of what operators see`,
          `$${ofDesk.succeeded.toFixed(4)}`,
        ],
        [
          'a million that succeed at a later receipt, as after a wait for their turn',
          dollars(ofDesk.receivedAgain),
        ],
        ['a million waits for a cause', dollars(ofDesk.wait)],
        ['a million letters, written and dealt with', dollars(ofDesk.letter)],
        ['a million messages of `publish --wait`, or replayed', dollars(ofDesk.receipt)],
        ['100,000 letters that lie for a month', dollars(deskKeepingCost(100_000))],
        [
          `a month of ${counted.alarms} alarms on ${counted.ownWatched} metrics, ${counted.causes} composite alarms, the dashboard, ${ofSchedules} metrics of the schedules`,
          dollars(own),
        ],
        [
          `a month of each integration: ${counted.eachWatched} metrics more for these alarms, and up to ${metrics} of its own while nothing fails`,
          dollars(counted.eachWatched * prices.alarm + metrics * prices.metric),
        ],
        [
          `a month of the pace: ${paceMetrics.always} metrics, ${paceMetrics.most} if calls of every class wait and are refused`,
          [paceMetrics.always, paceMetrics.most].map((count) => dollars(count * prices.metric)).join(' – '),
        ],
        ['a month of each secret', dollars(prices.secret)],
        ['a month of the secrets of 1,000 learners', dollars(1000 * prices.secret)],
        ...[500, 2_000, 20_000, 100_000].map((courses) => {
          const { operations, lambda, engine, files, total } = exportCostOf(courses, latencyMs);
          const [inAll, ofLambda, ofEngine, ofFiles] = [total, lambda, engine, files].map(
            (amount) => `$${amount.toFixed(3)}`,
          );
          return [
            `an export of ${courses.toLocaleString('en-US')} courses, ${operations} operations`,
            `${inAll} (Lambda ${ofLambda}, durable execution ${ofEngine}, files ${ofFiles})`,
          ];
        }),
      ],
    ),
    `Computed for records of ${desk.recordBytes} bytes in that table; for exports, for ${anExport.requests} requests and files per course, ${latencyMs} ms per request, ${anExport.atOnce} requests`,
    `at once, and no waiting (two more operations each), at $${prices.durableOperation} a million operations, $${prices.durableGigabyteWritten} a gigabyte written and $${prices.durableGigabyte} a gigabyte kept for a month.`,
    '',
  ].join('\n');
}

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

const table = (head: string[], rows: (string | number)[][]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');

const measurementFile = join(import.meta.dirname, 'cost.json');
export const readMeasurement = async (): Promise<Measurement> =>
  JSON.parse(await readFile(measurementFile, 'utf8'));

export const countedIn = (deployment: Deployment): Counted => {
  const watched = alarmsIn(deployment).flatMap((alarm) =>
    [...alarm.watched, ...(alarm.alive ? [alarm.alive] : [])].map(({ Dimensions }) => Dimensions[0]?.Value),
  );
  const triggered = deployment
    .ofType('AWS::Lambda::EventSourceMapping')
    .map(({ EventSourceArn }) => EventSourceArn.split(':').at(-1));
  const each = watched.filter((name) => triggered.includes(name)).length;
  const alarms = alarmsIn(deployment).length;
  const causes = deployment.ofType('AWS::CloudWatch::CompositeAlarm').length;
  const ownWatched = watched.length - each;
  const concurrencies = deployment
    .ofType('AWS::Lambda::EventSourceMapping')
    .map(({ ScalingConfig }): number => ScalingConfig.MaximumConcurrency);
  const containers = Math.max(...concurrencies);
  const allContainers = concurrencies.reduce((sum, each) => sum + each, 0);
  return { eachWatched: each / triggered.length, alarms, ownWatched, causes, containers, allContainers };
};

/** `npm run costs` */
export const command = async (): Promise<void> => {
  const [{ measure, measureSchedules, latencyMs }, { packageProject }, { cpus }] = await Promise.all([
    import('./cost-measure.ts'),
    import('./packaged.ts'),
    import('node:os'),
  ]);
  const { measure: anew } = optionsOf(
    { measure: { type: 'boolean' } },
    { usage: 'npm run costs -- --measure' },
  );
  const project = await mkdtemp(join(tmpdir(), 'sis-relay-costs-'));
  try {
    const packaged = await packageProject(project);
    if (anew) {
      const machine = `${cpus().length} shared CPUs (Node ${process.version.slice(1)})`;
      const date = new Date().toISOString().slice(0, 10);
      const measured = await measure(packaged);
      const scheduleMetrics = await measureSchedules(packaged);
      const measurement: Measurement = { latencyMs, machine, date, ...measured, scheduleMetrics };
      await writeFile(measurementFile, `${JSON.stringify(measurement, null, 2)}\n`);
    }
    writePart('costs', tablesOf(await readMeasurement(), countedIn(deploy(packaged.template))));
  } finally {
    await rm(project, { recursive: true });
  }
};
