import { expect, test } from 'vitest';
import { documentOf } from '../../documents.ts';
import { program } from './play-program.ts';

test('the README gives the number of scenarios that npm start plays, and shows no other', async () => {
  const scenarios = (await program()).flatMap(({ step }) => [
    step,
    ...('enables' in step ? [step.enables] : []),
  ]);
  const text = documentOf('README.md');
  expect(text).toContain(`It plays ${scenarios.length} scenarios`);
  const shown = [...text.matchAll(/^ +[\d.]+ s +(?:done|waits \S+ s|parked|superseded|duplicate) +(.*)$/gm)];
  const titles = scenarios.map(({ title }) => title);
  expect(shown.length).toBeGreaterThan(3);
  expect(shown.map(([, title]) => title).filter((title) => !titles.includes(title ?? ''))).toEqual([]);
});
