import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { tableOf, writePart } from '../../documents.ts';
import { optionsOf } from '../../options.ts';
import type { Measured } from './measure.ts';

/**
 * List prices of us-east-1 in US dollars, without free tiers and taxes, as they were published in November 2026: all that
 * the chapter on costs in lib/stage/README.md is computed from.
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

/** With so much memory a function has one whole CPU; with less, a part of one. */
const memoryOfOneCpuMb = 1_769;
/** What CloudWatch adds to each line, and Lambda's own three lines about an invocation. */
const lineBytes = 26;
const invocationBytes = 400;
/** DynamoDB bills a write for each KiB of its item. */
const writtenBytes = 1024;
/** SQS takes, hands out and deletes so many messages with a request at most, and bills one for each 64 KB that it carries. */
const sqsBatch = { messages: 10, billedBytes: 64 * 1024 };

/** What Lambda bills for a batch: waiting takes as long there, and computing as much longer as its part of a CPU is smaller. */
export const billedMs = ({ wallMs, cpuMs, memoryMb }: Measured): number =>
  Math.round(wallMs - cpuMs + cpuMs / Math.min(1, memoryMb / memoryOfOneCpuMb));

/** Of so many messages, by message. */
const sqsRequests = (messages: number, messageBytes: number): number => {
  const requests = Math.ceil(messages / sqsBatch.messages);
  const each = Math.ceil(((messages / requests) * messageBytes) / sqsBatch.billedBytes);
  return (requests * Math.max(1, each)) / messages;
};

/** Dollars for a million messages that all succeed at once; `total` if they are sent singly, `inTens` if ten at a time. */
export const costOf = (measured: Measured) => {
  const { batchSize, memoryMb, messageBytes, logBytes, logLines } = measured;
  const batches = 1 / batchSize;
  const gigabyteSeconds = (billedMs(measured) / 1000) * (memoryMb / 1024) * batches * 1_000_000;
  const sending = (messages: number): number => prices.sqsRequest * sqsRequests(messages, messageBytes);
  const cost = {
    lambda: prices.lambdaRequest * batches + prices.lambdaGigabyteSecond * gigabyteSeconds,
    // However large a batch is, Lambda receives and deletes ten messages at a time.
    receiving: prices.sqsRequest * (sqsRequests(batchSize, messageBytes) + sqsRequests(batchSize, 0)),
    ledger: prices.tableWrite * measured.writes * Math.ceil(measured.itemBytes / writtenBytes),
    secrets: prices.secretRead * measured.secretReads,
    files: prices.fileRead * measured.fileReads,
    logs: prices.logGigabyte * ((logBytes + logLines * lineBytes + invocationBytes * batches) / 1000),
  };
  const rest = Object.values(cost).reduce((sum, each) => sum + each, 0);
  return { ...cost, sending: sending(1), total: rest + sending(1), inTens: rest + sending(10) };
};

/** The table of lib/stage/README.md. */
export const costsTable = (rows: readonly Measured[]): string => {
  const head = [
    'a million messages of',
    'batch',
    'requests each',
    'billed a batch',
    'Lambda',
    'SQS',
    'ledger',
    'secrets, files',
    'logs',
    '**together**',
    '**sent in tens**',
  ];
  const cells = rows.map((row) => {
    const { lambda, receiving, sending, ledger, secrets, files, logs, total, inTens } = costOf(row);
    const parts = [lambda, sending + receiving, ledger, secrets + files, logs, total, inTens].map(dollars);
    return [row.title, row.batchSize, row.requests, `${billedMs(row)} ms`, ...parts];
  });
  return `\n${tableOf(head, cells)}\n`;
};

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

/** Of the rows that the documents promise: dollars for a million, sent one by one or in tens, and bytes of the ledger's item. */
const promised = { total: 1.95, inTens: 1.6, itemBytes: 900 };
const promisedRows = ['`grade-push`, both comments given, 50', '`enrollment-create`, 50'];

/** The promised rows of a measurement that cost more than was promised, or are not there. */
export const brokenPromises = (rows: readonly Measured[]): string[] =>
  promisedRows.filter((name) => {
    const row = rows.find(({ title, batchSize }) => `${title}, ${batchSize}` === name);
    if (row === undefined) return true;
    const { total, inTens } = costOf(row);
    return !(total <= promised.total && inTens <= promised.inTens && row.itemBytes <= promised.itemBytes);
  });

const file = join(import.meta.dirname, 'measured.csv');
const cellOf = (text: string): string | number => (/^[\d.]+$/.test(text) ? Number(text) : text);
export const measuredRows = (): Measured[] => parse(readFileSync(file), { columns: true, cast: cellOf });

const csvOf = (rows: readonly Measured[]): string =>
  [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))]
    .map((cells) => `${cells.map((cell) => (/,/.test(String(cell)) ? `"${cell}"` : cell)).join(',')}\n`)
    .join('');

const measureAnew = async (): Promise<Measured[]> => {
  const [{ measure }, { packageProject }] = await Promise.all([
    import('./measure.ts'),
    import('../packaged.ts'),
  ]);
  const project = await mkdtemp(join(tmpdir(), 'sis-relay-costs-'));
  try {
    return await measure(await packageProject(project));
  } finally {
    await rm(project, { recursive: true });
  }
};

/** `npm run costs`: writes the table; `--measure` measures before, and `--check` measures and writes nothing. */
export const command = async (): Promise<void> => {
  const { measure, check } = optionsOf(
    { measure: { type: 'boolean' }, check: { type: 'boolean' } },
    { usage: 'npm run costs -- --measure, or --check' },
  );
  const rows = measure || check ? await measureAnew() : measuredRows();
  for (const row of rows) {
    const { total, inTens } = costOf(row);
    console.log(`A million of ${row.title}, ${row.batchSize}: ${dollars(total)}, ${dollars(inTens)} in tens`);
  }
  const broken = brokenPromises(rows);
  if (broken.length > 0) console.log(`More than promised: ${broken.join('; ')}`);
  process.exitCode = broken.length > 0 ? 1 : 0;
  if (measure) writeFileSync(file, csvOf(rows));
  if (!check) writePart('costs', costsTable(rows));
};
