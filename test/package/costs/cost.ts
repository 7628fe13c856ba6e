import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableOf, writePart } from '../../documents.ts';
import { optionsOf } from '../../options.ts';
import type { MeasuredFunction } from './measure.ts';

/**
 * List prices of us-east-1 in US dollars, without free tiers and taxes, as they were published in November 2026: all that
 * the chapter on costs in lib/operate/stage/README.md is computed from.
 */
const prices = {
  /** A million of each. */
  lambdaRequest: 0.2,
  sqsRequest: 0.4,
  tableWrite: 0.625,
  secretRead: 5,
  fileRead: 0.4,
  /** arm64. */
  lambdaGigabyteSecond: 0.0000133334,
  logGigabyte: 0.5,
};

type Measurement = {
  latencyMs: number;
  machine: string;
  date: string;
  /** By what the messages are. */
  functions: Record<string, MeasuredFunction>;
  /** The first of them again, in batches that are not full. */
  partial: MeasuredFunction[];
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

/** The table of lib/operate/stage/README.md. */
export function costsTable({ functions, partial, latencyMs, machine, date }: Measurement): string {
  const rowOf = (title: string, measured: MeasuredFunction): (string | number)[] => {
    const { lambda, receiving, sending, ledger, secrets, files, logs, total, inTens } = costOf(measured);
    const parts = [lambda, sending + receiving, ledger, secrets + files, logs, total, inTens].map(dollars);
    return [title, measured.batchSize, measured.requests, `${billedMs(measured)} ms`, ...parts];
  };
  const rows = Object.entries(functions).flatMap(([title, measured], at) =>
    [measured, ...(at === 0 ? partial : [])].map((each) => rowOf(title, each)),
  );
  const head = [
    ...['a million messages of', 'batch', 'requests each', 'billed a batch', 'Lambda', 'SQS', 'ledger'],
    ...['secrets, files', 'logs', '**together**', '**sent in tens**'],
  ];
  return [
    '',
    tableOf(head, rows),
    `Measured on ${date} on ${machine} with the packaged functions in the local Lambda. The platform answers after`,
    `${latencyMs} ms, and everything succeeds at once. CPU time is scaled to the part of a CPU that the function’s memory buys.`,
    '',
  ].join('\n');
}

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

const measurementFile = join(import.meta.dirname, 'cost.json');
export const readMeasurement = async (): Promise<Measurement> =>
  JSON.parse(await readFile(measurementFile, 'utf8'));

/** `npm run costs` */
/** What the headlines promise for a million messages, sent one by one or in tens, and for the ledger's item of each. */
export const promised = { total: 1.95, inTens: 1.6, itemBytes: 900 };
export const headlines = ['`grade-push`, both comments given', '`enrollment-create`'];

const measureAnew = async (): Promise<Measurement> => {
  const [{ measure, latencyMs }, { packageProject }] = await Promise.all([
    import('./measure.ts'),
    import('../packaged.ts'),
  ]);
  const project = await mkdtemp(join(tmpdir(), 'sis-relay-costs-'));
  try {
    const machine = `${cpus().length} shared CPUs (Node ${process.version.slice(1)})`;
    const date = new Date().toISOString().slice(0, 10);
    return { latencyMs, machine, date, ...(await measure(await packageProject(project))) };
  } finally {
    await rm(project, { recursive: true });
  }
};

/** `--measure` writes what it measures, `--check` only compares it with what is promised. */
export const command = async (): Promise<void> => {
  const { measure, check } = optionsOf(
    { measure: { type: 'boolean' }, check: { type: 'boolean' } },
    { usage: 'npm run costs -- --measure, or --check' },
  );
  const measurement = measure || check ? await measureAnew() : await readMeasurement();
  for (const [title, measured] of Object.entries(measurement.functions)) {
    const { total, inTens } = costOf(measured);
    const isPromised = headlines.includes(title);
    const holds =
      total <= promised.total && inTens <= promised.inTens && measured.itemBytes <= promised.itemBytes;
    console.log(
      `A million of ${title}: $${total.toFixed(2)}, $${inTens.toFixed(2)} in tens${isPromised && !holds ? ', more than promised' : ''}`,
    );
    if (isPromised && !holds) process.exitCode = 1;
  }
  if (measure) await writeFile(measurementFile, `${JSON.stringify(measurement, null, 2)}\n`);
  if (!check) writePart('costs', costsTable(measurement));
};
