import type { Chart } from './view.ts';

const hourMs = 3_600_000;
const dayHours = 24;

/** Values by hour for the last 24 hours, in UTC. */
export const hourly = (
  title: string,
  series: readonly {
    name: string;
    tone: string;
    note?: string;
    events: readonly { atMs: number; count?: number }[];
  }[],
): Chart => {
  const first = Math.floor(Date.now() / hourMs) - dayHours + 1;
  const hours = Array.from({ length: dayHours }, (_, at) => first + at);
  const countIn = (events: (typeof series)[number]['events']): number[] => {
    const sums = new Map<number, number>();
    for (const { atMs, count = 1 } of events) {
      const hour = Math.floor(atMs / hourMs);
      sums.set(hour, (sums.get(hour) ?? 0) + count);
    }
    return hours.map((hour) => sums.get(hour) ?? 0);
  };
  const labels = hours.map((hour) => `${String(hour % dayHours).padStart(2, '0')}:00`);
  return {
    title,
    labels,
    series: series.map(({ events, ...each }) => ({ ...each, values: countIn(events) })),
  };
};
