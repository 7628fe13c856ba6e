import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { sendToFunctions } from '../../delivery/handle/send-to-functions.ts';
import { bulkAttributes } from '../../message/message.ts';
import { type Plan, planOf } from './examine.ts';
import type { SnapshotServices } from './snapshot-services.ts';
import { changesKey } from './state/record.ts';

/** Part numbers: the first part, and the first after the stretch. */
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

/** Sends the events of these parts, byte for byte as they were written. @throws MessageFailure if SQS refuses some. */
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
    const messages = lines.map((body) => ({
      function: (JSON.parse(body) as { type: string }).type.split('.')[1] ?? '',
      message: { body, attributes: bulkAttributes },
    }));
    await sendToFunctions(messages, services);
  }
};

const placeOf = (parts: Plan['parts'], at: number): number =>
  parts.slice(0, at).reduce((sum, { bytes }) => sum + bytes, 0);
