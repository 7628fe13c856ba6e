import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { sendAll } from '../aws/sqs.ts';
import { MessageFailure } from '../failure.ts';
import { priorityAttribute } from '../message.ts';
import { type Plan, planOf } from './examine.ts';
import { changesKey } from './record.ts';
import type { SnapshotServices } from './services.ts';

/** Pieces by their place: the first of them, and the first that is not among them. */
export type Stretch = { from: number; to: number };

/** An execution has 3,000 operations: at most a third of them are steps that send. */
const maxSteps = 1_000;

export const stretchesOf = (parts: number): Stretch[] => {
  const size = Math.max(1, Math.ceil(parts / maxSteps));
  return Array.from({ length: Math.ceil(parts / size) }, (_, at) => ({
    from: at * size,
    to: Math.min(parts, (at + 1) * size),
  }));
};

const attributes = { [priorityAttribute]: { DataType: 'String', StringValue: 'bulk' } };

/** Sends the events of these pieces, byte for byte as they were written. @throws MessageFailure if SQS refuses some. */
export const sendStretch = async (
  id: string,
  { from, to }: Stretch,
  services: SnapshotServices,
): Promise<void> => {
  const { parts } = await planOf(services.store, id);
  const place = placeOf(parts, from);
  for (const [at, { bytes }] of parts.slice(from, to).entries()) {
    const packed = await services.store.range(changesKey(id), place + placeOf(parts.slice(from), at), bytes);
    const lines = (await promisify(gunzip)(packed)).toString().trimEnd().split('\n');
    await sendLines(lines, services);
  }
};

const placeOf = (parts: Plan['parts'], at: number): number =>
  parts.slice(0, at).reduce((sum, { bytes }) => sum + bytes, 0);

/** In their order as far as their queue is the same. */
const sendLines = async (lines: string[], { sqs, queueUrlOf }: SnapshotServices): Promise<void> => {
  const byFunction = Map.groupBy(
    lines,
    (body) => (JSON.parse(body) as { type: string }).type.split('.')[1] ?? '',
  );
  for (const [name, bodies] of byFunction) {
    const { failures } = await sendAll(
      { sqs, url: queueUrlOf(name) },
      bodies.map((body) => ({ body, attributes })),
    );
    const [reason] = failures.values();
    if (reason !== undefined)
      throw new MessageFailure('unavailable', `SQS refused ${failures.size} messages: ${reason}`);
  }
};
