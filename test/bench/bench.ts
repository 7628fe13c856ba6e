import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePart } from '../documents.ts';
import { optionsOf } from '../options.ts';
import { measureColdStart } from './cold-start.ts';
import { type Environment, startEnvironment } from './environment.ts';
import type { Section } from './figures.ts';
import { measureGrowth } from './growth.ts';
import { measureLookUps } from './look-ups.ts';
import { measureMessages } from './messages.ts';
import { measureOwnConnection } from './own-connection.ts';
import { plotOf } from './plot.ts';
import { floorsOf, loadAverage, markdownOf, type Results, resultsOf, summaryOf, textOf } from './report.ts';
import { full, quick, type Scale } from './scale.ts';
import { measureUpload } from './upload.ts';

/** Measures everything, and tells each section as it is done. */
export const bench = async (scale: Scale, print: (text: string) => void): Promise<Results> => {
  const environment = await startEnvironment();
  const sections: Section[] = [];
  const loadAverages = [loadAverage()];
  const measures: ((environment: Environment) => Promise<Section>)[] = [
    (each) => measureMessages(each, scale.messages),
    (each) => measureColdStart(each, scale.coldStart),
    (each) => measureUpload(each, scale.upload),
    (each) => measureGrowth(each, scale.growth),
    (each) => measureOwnConnection(each, scale.ownConnection),
    () => measureLookUps(scale.lookUps),
  ];
  try {
    for (const measure of measures) {
      const section = await measure(environment);
      sections.push(section);
      loadAverages.push(loadAverage());
      print(textOf(section));
    }
  } finally {
    await environment.close();
  }
  return resultsOf(sections, loadAverages);
};

/** `npm run bench`: writes what test/README.md shows; `--quick` only looks. The exit status is 0 exactly if every floor holds. */
export const command = async (): Promise<void> => {
  const isQuick = optionsOf({ quick: { type: 'boolean' } }, { usage: 'npm run bench -- --quick' }).quick;
  const results = await bench(isQuick ? quick : full, console.log);
  if (!isQuick) {
    const folder = join(import.meta.dirname, 'results');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'bench.json'), `${JSON.stringify(results, null, 2)}\n`);
    writeFileSync(join(folder, 'bench.md'), markdownOf(results));
    writeFileSync(join(folder, 'bench.svg'), plotOf(results));
    writePart('benchmarks', summaryOf(results));
  }
  const floors = floorsOf(results);
  const held = floors.filter(({ holds }) => holds).length;
  console.log(`${held} of ${floors.length} floors hold; load average ${results.loadAverages.join(', ')}`);
  process.exitCode = held === floors.length ? 0 : 1;
};
