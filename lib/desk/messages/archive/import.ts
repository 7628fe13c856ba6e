import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { isTooOld } from '../../../delivery/ledger/judge.ts';
import { jsonIn } from '../../../message/json.ts';
import { type OutgoingMessage, sqsProblem } from '../../../message/sqs-limits.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import { sendAll } from '../../../runtime/aws/sqs.ts';
import type { Audit } from '../../../stage/audit.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { Input } from '../../../stage/input.ts';
import { linesIn } from '../../../stage/lines.ts';
import type { Target } from '../../../stage/target.ts';
import { stillLetters } from '../letters/leased-letters.ts';
import { createLetterReader } from '../letters/letter.ts';
import { asOfStage, foreignQueueIn, idIn, letterIn, withId } from '../letters/letter-line.ts';
import { letterIndexOf } from '../letters/list.ts';
import { listImported } from '../letters/reindex.ts';

export type ImportResult = {
  /** Lines that hold a letter. */
  letters: number;
  imported: number;
  /** Omitted, because they are in the queue as letters. */
  stillLetters?: number;
  /** Omitted: the numbers of lines that repeat the letter of an earlier line. */
  repeated?: number[];
  /** By the queue of another stage: how many of the letters came from it. */
  foreign?: Record<string, number>;
  problems: { line: number; problem: string }[];
};

type ImportOptions = {
  /** The file's name, for the audit log. */
  file: string;
  /** The file's lines. Each call reads from the beginning. */
  lines(): AsyncIterable<string>;
  /** Checks each line and sends nothing. */
  dryRun: boolean;
  /** Letters of another stage are taken for this one; otherwise they are refused. */
  forThisStage?: boolean | undefined;
  /** How a person has letters of another stage taken, if there is a way. */
  howToTake?: string;
  audit: Audit;
  signal: AbortSignal;
  /** Called before anything is sent, with the letters so old that a replay could overwrite something newer. */
  onOutdated?(outdated: OutdatedLine[]): void;
  onSent?(sent: number, of: number): void;
};

/** A line, and the time at which its message says that it happened. */
export type OutdatedLine = { line: number; time: string };

/**
 * Puts letters from a file back into the dead-letter queue and into the lists, unchanged but for letters of another stage. If a line holds no valid letter, nothing is
 * sent. A letter that is still in the queue is omitted, so that none is there twice.
 */
export const importLetters = async (
  target: Target,
  { file, lines, dryRun, forThisStage = false, howToTake, audit, signal, onOutdated, onSent }: ImportOptions,
): Promise<ImportResult> => {
  const stage = { prefix: target.prefix, forThisStage, howToTake };
  const { result, outdated, ids } = await checkAll(lettersIn(lines(), stage));
  if (outdated.length > 0) onOutdated?.(outdated);
  if (result.problems.length > 0 || result.letters === 0) return result;
  const begunMs = Date.now();
  const still = await stillLetters(target, ids, signal);
  if (still.size > 0) result.stillLetters = still.size;
  const { repeated = [] } = result;
  const count = result.letters - still.size - repeated.length;
  if (dryRun || count === 0) return result;

  const importing = await importerOf(target, begunMs);
  const { end } = await audit.begin({
    command: 'letters import',
    file,
    counts: { letters: count },
    letters: ids.filter((id) => !still.has(id)),
  });
  const done: string[] = [];
  const send = async (batch: Line[]): Promise<void> => {
    const { taken, others, failures } = await importing(batch);
    for (const [line, reason] of failures)
      result.problems.push({ line, problem: `SQS refused it: ${reason}` });
    if (others > 0) result.stillLetters = (result.stillLetters ?? 0) + others;
    result.imported += taken.length;
    done.push(...taken);
    onSent?.(result.imported, count);
  };
  try {
    const batch: Line[] = [];
    const again = new Set(repeated);
    for await (const line of lettersIn(lines(), stage)) {
      if (signal.aborted) break;
      if (!again.has(line.number) && !still.has(line.id ?? '')) batch.push(line);
      if (batch.length >= 80) await send(batch.splice(0));
    }
    if (!signal.aborted) await send(batch);
  } finally {
    await end({ imported: result.imported, failed: result.problems.length }, done);
  }
  return result;
};

const checkAll = async (
  lines: AsyncIterable<Line>,
): Promise<{ result: ImportResult; outdated: OutdatedLine[]; ids: string[] }> => {
  const result: ImportResult = { letters: 0, imported: 0, problems: [] };
  const outdated: OutdatedLine[] = [];
  const ids = new Set<string>();
  for await (const { number, id, letter, problem, foreign } of lines) {
    if (letter === undefined) {
      result.problems.push({ line: number, problem });
      continue;
    }
    result.letters += 1;
    if (foreign !== undefined)
      result.foreign = { ...result.foreign, [foreign]: (result.foreign?.[foreign] ?? 0) + 1 };
    if (id !== undefined && ids.has(id)) result.repeated = [...(result.repeated ?? []), number];
    else if (id !== undefined) ids.add(id);
    const time = timeIn(letter.body);
    if (time !== undefined && isTooOld(Date.parse(time), Date.now())) outdated.push({ line: number, time });
  }
  return { result, outdated, ids: [...ids] };
};

/** `taken`: their ids. `others`: somebody else imported them at the same time. `failures`: why SQS refused a line, by its number. */
type ImportBatchResult = { taken: string[]; others: number; failures: Map<number, string> };

/**
 * Sends lines as letters. Each is listed before it is sent, as when it was parked: of two people who import it at the same time, one
 * succeeds.
 */
const importerOf = async (
  target: Target,
  begunMs: number,
): Promise<(batch: Line[]) => Promise<ImportBatchResult>> => {
  const queue = { sqs: await target.sqs(), url: await target.deadLetterQueueUrl() };
  const letterIndex = letterIndexOf(target);
  const read = createLetterReader(target);
  // An older entry in the lists is about a letter that has left the queue.
  const notSince = {
    text: '(attribute_not_exists(#state) OR #state <> :letter OR #at < :begun)',
    names: { '#state': 'state', '#at': 'atMs' },
    values: { ':letter': 'letter', ':begun': begunMs },
  };
  return async (batch) => {
    const ready: { number: number; letter: OutgoingMessage }[] = [];
    await inParallel(batch, async ({ number, letter }) => {
      if (letter === undefined) return;
      const message = { Body: letter.body, MessageAttributes: letter.attributes };
      const Attributes = { SentTimestamp: String(Date.now()) };
      if (await listImported(letterIndex, await read({ ...message, Attributes }), notSince))
        ready.push({ number, letter });
    });
    const { failures } = await sendAll(
      queue,
      ready.map(({ letter }) => letter),
    );
    return {
      taken: ready.flatMap(({ letter }, at) =>
        failures.has(at) ? [] : (letter.attributes.letterId?.StringValue ?? []),
      ),
      others: batch.length - ready.length,
      failures: new Map([...failures].map(([at, reason]) => [ready[at]?.number ?? 0, reason])),
    };
  };
};

const timeIn = (body: string): string | undefined => {
  const time = (jsonIn(body) as { time?: unknown } | null | undefined)?.time;
  return typeof time === 'string' ? time : undefined;
};

type Line = {
  number: number;
  id?: string | undefined;
  letter?: OutgoingMessage;
  problem: string;
  /** The queue of another stage that it came from. */
  foreign?: string | undefined;
};

type OriginCheck = { prefix: string; forThisStage: boolean; howToTake: string | undefined };

async function* lettersIn(
  lines: AsyncIterable<string>,
  { prefix, forThisStage, howToTake }: OriginCheck,
): AsyncGenerator<Line> {
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line.trim() === '') continue;
    try {
      const said = letterIn(line);
      const foreign = foreignQueueIn(said, prefix);
      if (foreign !== undefined && !forThisStage) {
        yield {
          number,
          problem: [
            `is of the queue ${foreign.queue}, which is not of this stage. Import it there`,
            howToTake ?? [],
          ]
            .flat()
            .join(', or '),
        };
        continue;
      }
      const given = foreign === undefined ? said : asOfStage(said, foreign, prefix);
      const id = given.attributes.letterId?.StringValue ?? idIn(line);
      const letter = withId(given, id ?? randomUUID());
      const problem = sqsProblem(given) ?? sqsProblem(letter);
      yield problem === undefined
        ? { number, id, letter, problem: '', foreign: foreign?.queue }
        : { number, problem };
    } catch (error) {
      yield { number, problem: error instanceof Error ? error.message : String(error) };
    }
  }
}

/** An object, as in `s3://bucket/key`, or all below `s3://bucket/folder/`. Undefined if the address names neither. */
export const objectInput = (address: string, target: Target): Input | undefined => {
  const [, Bucket, Key] = /^s3:\/\/([^/]+)\/(.+)$/.exec(address) ?? [];
  if (Bucket === undefined) return undefined;
  const read = async function* (): AsyncGenerator<Uint8Array> {
    const { GetObjectCommand, paginateListObjectsV2 } = await import('@aws-sdk/client-s3');
    const client = await target.s3();
    const keys: string[] = [];
    if (Key?.endsWith('/'))
      for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket, Prefix: Key }))
        keys.push(...Contents.flatMap((object) => object.Key ?? []));
    for (const each of keys.length === 0 ? [Key] : keys) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: each }));
      yield* (Body ?? []) as AsyncIterable<Uint8Array>;
    }
  };
  return {
    name: address,
    open: () => Readable.from(read(), { objectMode: false }),
    [Symbol.asyncDispose]: async () => {},
  };
};

/** @throws RefusedError if it cannot be read. */
export async function* linesOf({ name: address, open }: Input): AsyncGenerator<string> {
  try {
    yield* linesIn(open());
  } catch (error) {
    const { name, code } = error as { name?: string; code?: string };
    if (name === 'NoSuchKey') throw new RefusedError(`${address} does not exist.`);
    // If the caller may not list the bucket, S3 gives the same answer for a missing object.
    if (name === 'AccessDenied') throw new RefusedError(`${address} does not exist, or you may not read it.`);
    if (code !== undefined) throw new RefusedError(`${address} cannot be read: ${code}`);
    throw error;
  }
}
