import type { DriveAnswered, DriveAsked } from './driver.ts';
import { launch, type Program } from './processes.ts';

type Driver = Program<DriveAsked, DriveAnswered>;

/** A handler in a process of its own, to be driven with messages. */
export type DriverOptions = { module: string; env: Record<string, string>; collects?: boolean };

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
      if (answer.failed > 0) throw new Error(`${answer.failed} of ${asked.messages} messages failed in ${module}`);
      return answer;
    },
  };
};

type Round<Name extends string> = { drivers: Record<Name, Driver>; asked(name: Name): DriveAsked };

/**
 * Repeats that take turns, each time in the other order: the machine is shared, and whatever else it does at a moment falls
 * on all of them alike. The first repeats warm up and do not count.
 */
export const interleaved = async <Name extends string>(
  { drivers, asked }: Round<Name>,
  { rounds, warmUps }: { rounds: number; warmUps: number },
): Promise<Record<Name, DriveAnswered[]>> => {
  const names = Object.keys(drivers) as Name[];
  const answers = Object.fromEntries(names.map((name) => [name, [] as DriveAnswered[]])) as Record<
    Name,
    DriveAnswered[]
  >;
  for (let round = 0; round < warmUps + rounds; round += 1)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const answer = await drivers[name].ask(asked(name));
      if (round >= warmUps) answers[name].push(answer);
    }
  return answers;
};

export const closeAll = async (drivers: Record<string, Driver>): Promise<void> => {
  await Promise.all(Object.values(drivers).map((driver) => driver.close()));
};
