import { tableOf } from '../documents.ts';
import { simulate } from './fleet.ts';
import { type Floor, judge } from './judge.ts';
import { scenarioOf, type Variant } from './variants.ts';

export type Result = Pick<Variant, 'name' | 'part' | 'mustHold'> & {
  calls: number;
  refused: number;
  floors: Floor[];
};

export const resultOf = (variant: Variant, seed: number): Result => {
  const scenario = scenarioOf(variant, seed);
  const simulated = simulate(scenario);
  const sum = (name: 'requests' | 'refused'): number =>
    simulated.windows.reduce((all, window) => all + window[name], 0);
  const { name, part, mustHold } = variant;
  const floors = judge(scenario, simulated);
  return { name, part, mustHold, floors, calls: sum('requests'), refused: sum('refused') };
};

const shownAs: { [name: string]: (value: number) => string } = {
  'budget used': (value) => percent(value, 1),
  'requests refused': (value) => percent(value, 3),
  'urgent p95 within budget': (value) => `${value.toFixed(1)} s`,
  'urgent p95 of small functions in the flood': (value) => `${value.toFixed(1)} s`,
};
const percent = (value: number, digits: number): string => `${(value * 100).toFixed(digits)} %`;

export const shown = ({ name, measured }: Pick<Floor, 'name' | 'measured'>): string =>
  measured === undefined
    ? '–'
    : (shownAs[name] ?? ((value) => `${Math.round(value * 1_000) / 1_000}`))(measured);

export const limitOf = ({ name, sense, limit }: Floor): string =>
  `${sense} ${shown({ name, measured: limit })}`;

/** For test/README.md: a row for each variant, and in bold what does not hold. */
export const summaryOf = (all: Result[]): string => {
  const floors = all[0]?.floors ?? [];
  const rows = all.map(({ name, part, floors: own }) => [
    `${name}${part === 1 ? '' : `, ${part} of the load`}`,
    ...own.map((floor) => (floor.holds ? shown(floor) : `**${shown(floor)}**`)),
  ]);
  const head = ['', ...floors.map(({ name }) => name)];
  return `\n${tableOf(head, [['floor', ...floors.map(limitOf)], ...rows], { numbersFrom: 1 })}`;
};
