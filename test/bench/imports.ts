import type { Measured, Size } from './bench.ts';
import { bundled, functionSource, team, teamSource } from './bundle.ts';
import { lineOf, ratioOf, spreadOf } from './figures.ts';
import { launch } from './processes.ts';

/** What every function needs in any case. */
const libraries = 'undici, zod and Secrets Manager’s client alone';

/** The import of each packaged function, in a fresh process each time. */
export const measureImports = async ({ functions, rounds }: Size, folder: string): Promise<Measured> => {
  const sources: Record<string, URL> = {
    [libraries]: new URL('peers/libraries.ts', import.meta.url),
    [team]: teamSource,
    ...Object.fromEntries(functions.map((name) => [name, functionSource(name)])),
  };
  const modules = new Map<string, string>();
  for (const [name, source] of Object.entries(sources)) modules.set(name, await bundled(source, folder));
  const imports = new Map([...modules.keys()].map((name): [string, number[]] => [name, []]));
  for (let round = 0; round <= rounds; round += 1)
    for (const [name, module] of round % 2 === 0 ? modules : [...modules].reverse()) {
      const importMs = await importOnce(module);
      // The first time of all also reads the files from the disk.
      if (round > 0) imports.get(name)?.push(importMs);
    }
  const of = (name: string): number[] => imports.get(name) ?? [];
  const medians = (name: string): number => spreadOf(of(name)).median;
  const slowest = functions.toSorted((one, other) => medians(other) - medians(one))[0] ?? '';
  return {
    lines: [
      lineOf('Import', 'ms', { [libraries]: of(libraries), [team]: of(team) }),
      lineOf('Import of each function', 'ms', Object.fromEntries(functions.map((name) => [name, of(name)]))),
    ],
    floors: [
      {
        name: `Import of the slowest function, ${slowest} / ${team}`,
        ratio: Math.max(...functions.map((name) => ratioOf(of(name), of(team)))),
        target: 0.45,
        tolerance: 0.85,
        reason: 'the libraries alone take most of what the floor allows',
      },
    ],
  };
};

const importOnce = async (module: string): Promise<number> => {
  const program = launch<object, number>({
    program: new URL('import.js', import.meta.url),
    parameters: [module],
    env: { AWS_REGION: 'eu-west-1', PLATFORM_URL: 'http://127.0.0.1:9', LEDGER_TABLE: 'ledger' },
  });
  try {
    return await program.ask({});
  } finally {
    await program.close();
  }
};
