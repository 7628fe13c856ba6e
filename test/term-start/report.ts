import type { Floor } from './judge.ts';
import { hourMs } from './load.ts';
import { callsIn, partsOfPlan } from './reconcile.ts';
import type { Told, ToldRun } from './told.ts';

const shownAs: { [name: string]: (value: number) => string } = {
  'budget used': (value) => percent(value, 1),
  'requests refused': (value) => percent(value, 3),
  'urgent p95 within budget': seconds,
  'urgent p95 of small functions in the flood': seconds,
};

export const shown = ({ name, measured }: Pick<Floor, 'name' | 'measured'>): string =>
  measured === undefined ? '–' : (shownAs[name] ?? number)(measured);

function seconds(value: number): string {
  return value < 120 ? `${value.toFixed(1)} s` : `${Math.round(value / 60)} min`;
}
const percent = (value: number, digits: number): string => `${(value * 100).toFixed(digits)} %`;
const number = (value: number): string => `${Math.round(value * 1_000) / 1_000}`;

/** For a terminal: the floors of one variant, and what became of each class and function. */
export const textOf = (all: Told): string => {
  const { name, part, floors, lanes, minutes, wallSeconds, calls, refused, urgent, lastMs, reconciled } = all;
  return [
    '',
    `${name}${part === 1 ? '' : `, ${part} of the load`}: ${calls} calls and ${refused} refused in ${(minutes / 60).toFixed(1)} h, simulated in ${wallSeconds.toFixed(0)} s`,
    ...floors.map(
      (floor) =>
        `  ${floor.holds ? '✓' : '✗'} ${floor.name.padEnd(46)}${shown(floor).padStart(10)}   ${floor.sense} ${shown({ name: floor.name, measured: floor.limit })}`,
    ),
    `  ${'function'.padEnd(24)}${'class'.padEnd(8)}${'messages'.padStart(10)}${'p50'.padStart(10)}${'p95'.padStart(10)}${'receipts'.padStart(10)}${'letters'.padStart(9)}`,
    ...lanes.map(
      (lane) =>
        `  ${lane.name.padEnd(24)}${lane.priority.padEnd(8)}${String(lane.done).padStart(10)}${told(lane.p50).padStart(10)}${told(lane.p95).padStart(10)}${String(lane.receipts ?? '–').padStart(10)}${String(lane.letters).padStart(9)}`,
    ),
    ...urgent.map(
      ({ fromMs, toMs, p95 }) => `  urgent p95, sent from ${hourOf(fromMs)} to ${hourOf(toMs)}: ${told(p95)}`,
    ),
    `  the last is done at ${hourOf(lastMs)}`,
    ...reconciled.map((run) => {
      const [planned, made, reached, time, share] = cellsOf(run);
      return `  reconcile from ${hourOf(run.fromMs)}: ${made} of ${planned} calls (${reached} of what is recent, the sample and the slice), ${time}, ${share} of the budget`;
    }),
  ].join('\n');
};

const told = (value: number | undefined): string => (value === undefined ? '–' : seconds(value));

/** For test/README.md: a row for each variant, and in bold what does not hold. */
export const summaryOf = (all: Told[]): string => {
  const [first] = all;
  if (first === undefined) return '';
  return [
    '',
    `| | ${first.floors.map(({ name }) => name).join(' | ')} |`,
    `| --- |${' ---: |'.repeat(first.floors.length)}`,
    `| floor | ${first.floors.map((floor) => `${floor.sense} ${shown({ name: floor.name, measured: floor.limit })}`).join(' | ')} |`,
    ...all.map(({ name, part, floors }) => {
      const cells = floors.map((floor) => (floor.holds ? shown(floor) : `**${shown(floor)}**`));
      return `| ${name}${part === 1 ? '' : `, ${part} of the load`} | ${cells.join(' | ')} |`;
    }),
    '',
  ].join('\n');
};

const hourOf = (ms: number): string => `${Math.round((100 * ms) / hourMs) / 100} h`;

const cellsOf = (run: ToldRun): string[] => [
  callsIn(run.planned).toLocaleString('en'),
  run.made.toLocaleString('en'),
  reachedOf(run)
    .map((part) => percent(part, 0))
    .join(', '),
  `${((run.endedMs - run.fromMs) / hourMs).toFixed(1)} h`,
  percent(run.share, 1),
];

/** It looks at one after the other. */
const reachedOf = ({ planned, made }: ToldRun): number[] => {
  let left = made;
  return partsOfPlan.map((part) => {
    const reached = Math.min(left, planned[part]);
    left -= reached;
    return reached / planned[part];
  });
};
