import { Readable } from 'node:stream';
import { sendAll } from '../aws/batches.ts';
import { type Outgoing, sqsProblem } from '../aws/sqs-limits.ts';
import type { Audit } from '../deployment/audit.ts';
import { RefusedError } from '../deployment/command-errors.ts';
import type { Target } from '../deployment/target.ts';
import { jsonIn } from '../json.ts';
import { isTooOld } from '../ledger/rules.ts';
import type { Input } from '../publish/input.ts';
import { linesIn } from '../publish/lines.ts';
import { letterIn } from './reading/letter-line.ts';

export type Imported = {
  /** Lines that hold a letter. */
  letters: number;
  imported: number;
  problems: { line: number; problem: string }[];
};

type ImportOptions = {
  /** The lines of the file, as often as asked for. */
  lines(): AsyncIterable<string>;
  /** Checks each line and sends nothing. */
  dryRun: boolean;
  audit: Audit;
  signal: AbortSignal;
  /** Called before any is sent, with the letters whose messages are so old that a replay could undo what is newer. */
  onOutdated?(outdated: Outdated[]): void;
  onSent?(sent: number, of: number): void;
};

/** A line whose message says that it happened so long ago. */
export type Outdated = { line: number; time: string };

/** Puts letters from a file back into the dead-letter queue, as they were; unless every line holds one, it sends none. */
export const importLetters = async (
  target: Target,
  { lines, dryRun, audit, signal, onOutdated, onSent }: ImportOptions,
): Promise<Imported> => {
  const result: Imported = { letters: 0, imported: 0, problems: [] };
  const outdated: Outdated[] = [];
  for await (const { number, letter, problem } of lettersIn(lines())) {
    if (letter) result.letters += 1;
    else result.problems.push({ line: number, problem });
    const time = letter && timeIn(letter.body);
    if (time !== undefined && isTooOld(Date.parse(time), Date.now())) outdated.push({ line: number, time });
  }
  if (outdated.length > 0) onOutdated?.(outdated);
  if (dryRun || result.problems.length > 0 || result.letters === 0) return result;

  const queue = { sqs: await target.sqs(), url: await target.deadLetterQueueUrl() };
  const { end } = await audit.begin({ command: 'letters import', counts: { letters: result.letters } });
  const send = async (batch: { number: number; letter: Outgoing }[]): Promise<void> => {
    const { failures } = await sendAll(
      queue,
      batch.map(({ letter }) => letter),
    );
    for (const [at, reason] of failures)
      result.problems.push({ line: batch[at]?.number ?? 0, problem: `SQS did not take it: ${reason}` });
    result.imported += batch.length - failures.size;
    onSent?.(result.imported, result.letters);
  };
  try {
    const batch: { number: number; letter: Outgoing }[] = [];
    for await (const { number, letter } of lettersIn(lines())) {
      if (signal.aborted) break;
      if (letter) batch.push({ number, letter });
      if (batch.length >= 80) await send(batch.splice(0));
    }
    if (!signal.aborted) await send(batch);
  } finally {
    await end({ imported: result.imported, failed: result.problems.length });
  }
  return result;
};

const timeIn = (body: string): string | undefined => {
  const time = (jsonIn(body) as { time?: unknown } | null | undefined)?.time;
  return typeof time === 'string' ? time : undefined;
};

type Line = { number: number; letter?: Outgoing; problem: string };

async function* lettersIn(lines: AsyncIterable<string>): AsyncGenerator<Line> {
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line.trim() === '') continue;
    try {
      const letter = letterIn(line);
      const problem = sqsProblem(letter);
      yield problem === undefined ? { number, letter, problem: '' } : { number, problem };
    } catch (error) {
      yield { number, problem: error instanceof Error ? error.message : String(error) };
    }
  }
}

/** An object, as in `s3://bucket/key`; undefined where the address is that of no object. */
export const objectInput = (address: string, target: Target): Input | undefined => {
  const [, Bucket, Key] = /^s3:\/\/([^/]+)\/(.+)$/.exec(address) ?? [];
  if (Bucket === undefined) return undefined;
  const read = async function* (): AsyncGenerator<Uint8Array> {
    const { GetObjectCommand } = await import('@aws-sdk/client-s3');
    const s3 = await target.s3();
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
    yield* (Body ?? []) as AsyncIterable<Uint8Array>;
  };
  return {
    name: address,
    open: () => Readable.from(read(), { objectMode: false }),
    [Symbol.asyncDispose]: async () => {},
  };
};

/** @throws RefusedError where it cannot be read. */
export async function* linesOf({ name: address, open }: Input): AsyncGenerator<string> {
  try {
    yield* linesIn(open());
  } catch (error) {
    const { name, code } = error as { name?: string; code?: string };
    if (name === 'NoSuchKey') throw new RefusedError(`There is no ${address}.`);
    // S3 answers the same to somebody who may not list the bucket, whether the object is there or not.
    if (name === 'AccessDenied') throw new RefusedError(`There is no ${address}, or you may not read it.`);
    if (code !== undefined) throw new RefusedError(`${address} cannot be read: ${code}`);
    throw error;
  }
}
