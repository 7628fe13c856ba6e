import type { DriveAnswered, DriveAsked } from './driver.ts';
import { launch, type Program } from './processes.ts';

type Driver = Program<DriveAsked, DriveAnswered>;

/** A handler in a process of its own, to be driven with messages. */
type DriverOptions = { module: string; env: Record<string, string>; collects?: boolean };

export const startDriver = ({ module, env, collects = false }: DriverOptions): Driver => {
  const driver = launch<DriveAsked, DriveAnswered>({
    program: new URL('driver.ts', import.meta.url),
    parameters: [module],
    env,
    execArgv: collects ? ['--expose-gc'] : [],
  });
  return {
    ...driver,
    ask: async (asked) => {
      const answer = await driver.ask(asked);
      // What was not sent costs nothing, and would be praised for it.
      if (answer.failed > 0)
        throw new Error(
          `${answer.failed} of ${asked.messages} messages failed in ${module}: ${driver.lastOutput()}`,
        );
      return answer;
    },
  };
};

type Drivers = Record<string, Driver>;

/** Each in a process of its own, for as long as the work takes. */
export const withDrivers = async <Result>(
  subjects: Record<string, DriverOptions>,
  work: (drivers: Drivers) => Promise<Result>,
): Promise<Result> => {
  const drivers = Object.fromEntries(
    Object.entries(subjects).map(([name, subject]) => [name, startDriver(subject)]),
  );
  try {
    return await work(drivers);
  } finally {
    await Promise.all(Object.values(drivers).map((driver) => driver.close()));
  }
};

type Repeats = { asked(name: string): DriveAsked; rounds: number; warmUps: number };

/**
 * Repeats that take turns, each time in the other order: the machine is shared, and whatever else it does at a moment falls
 * on all of them alike. The first repeats warm up and do not count.
 */
export const interleaved = async (
  drivers: Drivers,
  { asked, rounds, warmUps }: Repeats,
): Promise<Record<string, DriveAnswered[]>> => {
  const all = Object.entries(drivers);
  const answers = new Map(all.map(([name]): [string, DriveAnswered[]] => [name, []]));
  for (let round = 0; round < warmUps + rounds; round += 1)
    for (const [name, driver] of round % 2 === 0 ? all : all.toReversed()) {
      const answer = await driver.ask(asked(name));
      if (round >= warmUps) answers.get(name)?.push(answer);
    }
  return Object.fromEntries(answers);
};

/** The repeats of each, continued by more of them. */
export const continued = (
  before: Record<string, DriveAnswered[]>,
  more: Record<string, DriveAnswered[]>,
): Record<string, DriveAnswered[]> =>
  Object.fromEntries(Object.entries(more).map(([name, all]) => [name, [...(before[name] ?? []), ...all]]));

/** One number of each repeat. */
export const valuesOf = (
  answers: Record<string, DriveAnswered[]>,
  value: (answer: DriveAnswered) => number,
): Record<string, number[]> =>
  Object.fromEntries(Object.entries(answers).map(([name, all]) => [name, all.map(value)]));
