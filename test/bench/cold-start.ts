import type { Bundle } from './build.ts';
import type { Environment } from './environment.ts';
import { eventsOf } from './events.ts';

import { team, teamSource } from './messages.ts';
import { launch } from './processes.ts';
import { atMostTimes, type Figure, figureOf, type Section } from './report.ts';

type ColdAnswered = {
  importMs: number;
  importCpuMs: number;
  firstMs: number;
  firstCpuMs: number;
  residentBytes: number;
  grownBytes: number;
  failed: number;
};

export type ColdStartScale = { functions: string[]; repeats: number };

/** The import of each packaged function in a fresh process each time, and the first message of the one that has a peer. */
export const measureColdStart = async (
  environment: Environment,
  { functions, repeats }: ColdStartScale,
): Promise<Section> => {
  const bundles: Record<string, Bundle> = {
    [libraries]: await environment.bundleOf(new URL('peers/libraries.ts', import.meta.url)),
    [team]: await environment.bundleOf(teamSource),
  };
  for (const name of functions)
    bundles[name] = await environment.bundleOf(new URL(`../../functions/${name}.ts`, import.meta.url));
  const names = Object.keys(bundles);
  const answers = new Map(names.map((name): [string, ColdAnswered[]] => [name, []]));
  for (let repeat = 0; repeat <= repeats; repeat += 1)
    for (const name of repeat % 2 === 0 ? names : names.toReversed()) {
      const withMessage = name === team || name === peered;
      const answer = await startCold(bundles[name]?.url ?? '', { withMessage, env: environment.withLedger });
      // The first time of all also reads the files from the disk.
      if (repeat > 0) answers.get(name)?.push(answer);
    }

  const each = (value: (answer: ColdAnswered) => number, of: string[] = names): Record<string, number[]> =>
    Object.fromEntries(of.map((name) => [name, (answers.get(name) ?? []).map(value)]));
  const size = (name: string, value: (bundle: Bundle) => number): Figure =>
    figureOf(
      name,
      'KB',
      Object.fromEntries(Object.entries(bundles).map(([of, bundle]) => [of, [value(bundle) / 1000]])),
    );
  const imports = each(({ importMs }) => importMs);
  const floors = functions.map((name) => {
    const compared = { peer: team, ours: imports[name] ?? [], theirs: imports[team] ?? [] };
    const floor = atMostTimes(0.45, compared, acceptedImport);
    return { ...floor, name: `${name} ${floor.name}` };
  });
  const both = functions.includes(peered) ? [team, peered] : [team];
  return {
    title: 'A cold start',
    about:
      'A fresh process imports the bundle, and handles one message where there is a peer that does the same. The peer is ' +
      'bundled by the same packaging, as are the libraries that every function needs in any case.',
    figures: [
      figureOf('Import', 'ms', imports, floors),
      figureOf(
        'Import, CPU',
        'ms',
        each(({ importCpuMs }) => importCpuMs),
      ),
      figureOf(
        'Import and first message',
        'ms',
        each(({ firstMs }) => firstMs, both),
      ),
      figureOf(
        'Import and first message, CPU',
        'ms',
        each(({ firstCpuMs }) => firstCpuMs, both),
      ),
      figureOf(
        'Resident memory after the import',
        'MB',
        each(({ residentBytes }) => residentBytes / 1e6),
      ),
      figureOf(
        'Of it by the import',
        'MB',
        each(({ grownBytes }) => grownBytes / 1e6),
      ),
      size('Code that the import evaluates', ({ importedBytes }) => importedBytes),
      size('Code in all', ({ bytes }) => bytes),
      size('Code in all, zipped', ({ zippedBytes }) => zippedBytes),
    ],
  };
};

/** What every function needs in any case. */
const libraries = 'undici, zod, Secrets Manager’s client';

const acceptedImport = {
  limit: 0.85,
  reason: 'the libraries alone, in the first column, take most of what the floor allows',
};

/** What the peer does as well. */
const peered = 'grade-push';

const startCold = async (
  module: string,
  { withMessage, env }: { withMessage: boolean; env: Record<string, string> },
): Promise<ColdAnswered> => {
  const cold = launch<{ event: unknown; context: object }, ColdAnswered>({
    program: new URL('cold.js', import.meta.url),
    parameters: [module],
    env,
  });
  try {
    const [event] = withMessage ? eventsOf({ kind: 'grade-push', messages: 1, batchSize: 1 }) : [];
    const answer = await cold.ask({ event, context: { functionName: 'cold', awsRequestId: 'cold' } });
    if (answer.failed > 0) throw new Error(`The first message failed in ${module}`);
    return answer;
  } finally {
    await cold.close();
  }
};
