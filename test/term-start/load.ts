import type { Priority } from '../../lib/message/priority.ts';

/** Messages that a producer sends evenly between two times. */
export type Stream = { fromMs: number; toMs: number; messages: number; isBulk?: boolean };

/** One function with its queue, as serverless.yml and the function declare them. */
export type FunctionLoad = {
  name: string;
  priority: Priority;
  batchSize: number;
  batchingWindowMs: number;
  attemptTimeoutMs: number;
  callsPerMessage: number;
  streams: Stream[];
};

export type Load = {
  functions: FunctionLoad[];
  /** A course export: calls of the class bulk by a container of its own, so many at a time. */
  export: { fromMs: number; calls: number; concurrency: number };
  /** Beside all of it, in the same class and a container of its own; its calls have no end. */
  reconcile?: { fromMs: number; toMs: number; concurrency: number };
  /** When the flood begins, and before which everything else must have been done in time. */
  floodMs: number;
};

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;

type Mapping = Pick<FunctionLoad, 'batchSize' | 'batchingWindowMs' | 'attemptTimeoutMs'>;

/** As in serverless.yml. */
const mappings = (batchSize: number) => ({
  mapping: { batchSize, batchingWindowMs: 1_000, attemptTimeoutMs: 40_000 } satisfies Mapping,
  uploads: { batchSize: 2, batchingWindowMs: 0, attemptTimeoutMs: 40_000 } satisfies Mapping,
});

type Share = [fromHour: number, toHour: number, messages: number, isBulk?: 'bulk'];

/** The day on which a million students start their term; `part` of it with as large a part of each flood. */
export const termStart = ({ part = 1, batchSize = 50 } = {}): Load => {
  const { mapping, uploads } = mappings(batchSize);
  const large = { ...uploads, attemptTimeoutMs: 100_000 };
  const of = (
    name: string,
    declared: Mapping & { priority?: Priority; calls?: number },
    ...shares: Share[]
  ): FunctionLoad => {
    const { priority = 'normal', calls = 1, ...rest } = declared;
    const streams = shares.map(([from, to, messages, isBulk]) => ({
      fromMs: from * part * hourMs,
      toMs: to * part * hourMs,
      messages: Math.round(messages * part),
      isBulk: isBulk !== undefined,
    }));
    return { name, priority, callsPerMessage: calls, ...rest, streams };
  };
  const urgent = { priority: 'urgent' } as const;
  return {
    floodMs: 7 * part * hourMs,
    export: { fromMs: 7.5 * part * hourMs, calls: Math.round(40_000 * part), concurrency: 4 },
    functions: [
      // 5,000,000 within two hours, and what is always changed.
      of('enrollment-create', { ...mapping, ...urgent }, [0, 24, 20_000], [7, 9, 5_000_000]),
      of('enrollment-remove', { ...mapping, ...urgent }, [0, 24, 200_000]),
      // One exam's grades come at once.
      of('grade-push', { ...mapping, ...urgent }, [0, 24, 400_000], [11, 11.2, 100_000]),
      of('submission-upload', { ...large, ...urgent }, [0, 24, 10_000]),
      of('profile-image-update', uploads, [0, 24, 10_000], [8, 12, 20_000]),
      // Two normal functions that have the platform for themselves, and a third within the flood.
      of('grade-object-create', mapping, [5, 5.2, 60_000], [14, 14.2, 15_000], [0, 24, 2_000]),
      of('grade-object-update', mapping, [5, 5.2, 60_000], [14, 14.2, 15_000], [0, 24, 2_000]),
      of('org-unit-move', { ...mapping, calls: 2 }, [0, 24, 1_000]),
      of('content-topic-update', { ...large, calls: 2 }, [0, 24, 2_000]),
      of('news-item-create', uploads, [0, 24, 2_000]),
      of('lti-link-update', mapping, [0, 24, 2_000]),
      // A nightly full load, and more of it by day.
      of(
        'user-attributes-update',
        mapping,
        [0, 24, 2_000],
        [1, 1.5, 100_000, 'bulk'],
        [10, 10.5, 20_000, 'bulk'],
      ),
    ],
  };
};

/** How many messages of a stream were sent by a time. */
export const sentBy = ({ fromMs, toMs, messages }: Stream, nowMs: number): number =>
  Math.floor(messages * Math.max(0, Math.min(1, (nowMs - fromMs) / (toMs - fromMs))));
