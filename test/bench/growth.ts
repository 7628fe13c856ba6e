import type { DriveAnswered } from './driver.ts';
import { startDriver } from './drivers.ts';
import type { Environment } from './environment.ts';
import { atMost, type Figure, type Floor, figureOf, type Section } from './report.ts';

export type GrowthScale = {
  /** Ascending. */
  sizes: number[];
};

/** Whether a container that has handled much pays more for each message, or keeps more. */
export const measureGrowth = async (environment: Environment, { sizes }: GrowthScale): Promise<Section> => {
  const { url: module } = await environment.bundleOf(
    new URL('../../functions/grade-push.ts', import.meta.url),
  );
  const driver = startDriver({ module, env: environment.settings, collects: true });
  const drive: Drive = (messages, collects = false) =>
    driver.ask({ kind: 'grade-push', messages, batchSize: 10, collects });
  try {
    const fresh: Record<string, Run> = {};
    let total = none;
    for (const size of sizes) {
      total = added(total, size - total.messages, await drive(size - total.messages));
      fresh[nameOf(size)] = total;
    }
    const warm = await warmRuns(sizes, drive);
    return {
      title: 'Growth',
      about:
        'One container handles message after message. Its first ones are dear, as nothing is compiled yet; what must stay ' +
        'flat is what comes after. Small runs are repeated, half of them before the largest and half after it.',
      figures: [
        figure('CPU a message, from the first one on', { unit: 'µs', runs: fresh, value: cpuOf }),
        flat(figure('CPU a message, once warm', { unit: 'µs', runs: warm, value: cpuOf }), shared),
        flat(figure('Heap after a collection, once warm', { unit: 'MB', runs: warm, value: heapOf })),
        figure('Resident memory, from the first one on', { unit: 'MB', runs: fresh, value: residentOf }),
        figure('Resident memory, once warm', { unit: 'MB', runs: warm, value: residentOf }),
      ],
    };
  } finally {
    await driver.close();
  }
};

type Drive = (messages: number, collects?: boolean) => Promise<DriveAnswered>;
type Run = { messages: number; cpuMs: number; heapBytes: number; residentBytes: number };

const none: Run = { messages: 0, cpuMs: 0, heapBytes: 0, residentBytes: 0 };

const added = (before: Run, messages: number, { cpuMs, heapBytes, residentBytes }: DriveAnswered): Run => ({
  messages: before.messages + messages,
  cpuMs: before.cpuMs + cpuMs,
  heapBytes,
  residentBytes,
});

/** A small size is run often enough to have met its share of collections and of noise. */
const warmRuns = async (sizes: number[], drive: Drive): Promise<Record<string, Run>> => {
  const runs: Record<string, Run> = Object.fromEntries(sizes.map((size) => [nameOf(size), none]));
  const largest = sizes.at(-1) ?? 0;
  const run = async (size: number): Promise<void> => {
    const times = size === largest ? 1 : Math.min(50, Math.ceil(largest / size / 6));
    let after = runs[nameOf(size)] ?? none;
    for (let at = 0; at < times; at += 1) after = added(after, size, await drive(size));
    // Apart from the messages that are counted: those that follow a collection of everything pay for it.
    const { heapBytes, residentBytes } = await drive(0, true);
    await drive(sizes[1] ?? largest);
    runs[nameOf(size)] = { ...after, heapBytes, residentBytes };
  };
  for (const size of [...sizes, ...sizes.toReversed().slice(1)]) await run(size);
  return runs;
};

const nameOf = (size: number): string => size.toLocaleString('en');

const cpuOf = ({ cpuMs, messages }: Run): number => (cpuMs * 1000) / messages;
const heapOf = ({ heapBytes }: Run): number => heapBytes / 1e6;
const residentOf = ({ residentBytes }: Run): number => residentBytes / 1e6;

type Shown = { unit: Figure['unit']; runs: Record<string, Run>; value(run: Run): number };

const figure = (name: string, { unit, runs, value }: Shown): Figure =>
  figureOf(name, unit, Object.fromEntries(Object.entries(runs).map(([size, run]) => [size, [value(run)]])));

/** None of the values is further from their middle than a tenth of it. */
const flat = (given: Figure, accepted?: Floor['accepted']): Figure => {
  const values = Object.values(given.values).map(({ median }) => median);
  const middle = (Math.max(...values) + Math.min(...values)) / 2;
  const floor = atMost(0.1, 'within ± 10 %', [Math.max(...values) / middle - 1]);
  return { ...given, floors: [{ ...floor, accepted }] };
};

const shared = { limit: 0.2, reason: 'runs of one size differ by as much where the processor is shared' };
