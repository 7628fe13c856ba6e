import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { optionsOf } from '../options.ts';
import { measureColdStart } from './cold-start.ts';
import { measureCommand } from './command.ts';
import { type Environment, startEnvironment } from './environment.ts';
import { measureGrowth } from './growth.ts';
import { measureMessages } from './messages.ts';
import { measurePayloads } from './payloads.ts';
import {
  floorsOf,
  loadAverage,
  markdownOf,
  type Results,
  resultsOf,
  type Section,
  textOf,
  verdictOf,
} from './report.ts';
import { full, quick, type Scale } from './scale.ts';
import { measureUpload } from './upload.ts';

/** Measures everything, or what `--only` names, and tells each section as it is done. */
export const bench = async (
  scale: Scale,
  print: (text: string) => void,
  only: readonly Part[] = parts,
): Promise<Results> => {
  const environment = await startEnvironment();
  const sections: Section[] = [];
  const loadAverages = [loadAverage()];
  try {
    for (const part of only) {
      const section = await measures[part](environment, scale);
      sections.push(section);
      loadAverages.push(loadAverage());
      print(`\n${textOf(section)}`);
    }
  } finally {
    await environment.close();
  }
  return resultsOf(sections, loadAverages);
};

type Measure = (environment: Environment, scale: Scale) => Promise<Section>;

const measures = {
  messages: (environment, { messages }) => measureMessages(environment, messages),
  payloads: (environment, { payloads }) => measurePayloads(environment, payloads),
  'cold-start': (environment, { coldStart }) => measureColdStart(environment, coldStart),
  upload: (environment, { upload }) => measureUpload(environment, upload),
  growth: (environment, { growth }) => measureGrowth(environment, growth),
  command: (_, scale) => measureCommand(scale.command),
} satisfies Record<string, Measure>;

type Part = keyof typeof measures;
const parts = Object.keys(measures) as Part[];

/**
 * `npm run bench`: writes results/bench.md; `--quick` and `--only` only look. The exit status is 0 exactly if no floor fails.
 */
export const command = async (): Promise<void> => {
  const usage = `npm run bench -- --quick --only ${parts.join('|')}`;
  const options = { quick: { type: 'boolean' }, only: { type: 'string' } } as const;
  const { quick: isQuick, only } = optionsOf(options, { usage });
  const wanted = parts.filter((part) => only === undefined || part === only);
  if (wanted.length === 0) {
    console.error(`There is no part ${only}. ${usage}`);
    process.exitCode = 2;
    return;
  }
  const results = await bench(isQuick ? quick : full, console.log, wanted);
  if (!isQuick && only === undefined) {
    const folder = join(import.meta.dirname, 'results');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'bench.json'), `${JSON.stringify(results, null, 2)}\n`);
    writeFileSync(join(folder, 'bench.md'), markdownOf(results));
  }
  const verdicts = floorsOf(results).map(verdictOf);
  const [held, missed, failed] = (['holds', 'missed', 'fails'] as const).map(
    (verdict) => verdicts.filter((each) => each === verdict).length,
  );
  const load = results.loadAverages.join(', ');
  console.log(
    `Floors: ${held} hold, ${missed} are missed as is accepted, ${failed} fail; load average ${load}`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
};
