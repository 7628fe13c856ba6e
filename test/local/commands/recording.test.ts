import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writtenPart } from '../../documents.ts';
import { program } from './play-program.ts';
import { sentenceOf } from './record.ts';

const kept = join(import.meta.dirname, 'start.svg');

test('the recording that the README shows is small, has no script, and ends well: else npm run record', () => {
  const picture = readFileSync(kept, 'utf8');
  expect(statSync(kept).size).toBeLessThan(200_000);
  expect(picture).not.toMatch(/<script|\bon\w+=|https?:(?!\/\/www\.w3\.org\/2000\/svg)/);
  expect(picture).toMatch(/✓ \d+ of \d+ scenarios/);
});

test('the README says of npm start what was recorded, of all scenarios that there are: else npm run record', async () => {
  const scenarios = (await program()).flatMap(({ step }) => [
    step,
    ...('enables' in step ? [step.enables] : []),
  ]);
  const said = writtenPart('start');
  expect(said).toBe(sentenceOf(readFileSync(kept, 'utf8')));
  expect(said).toMatch(new RegExp(`^It plays ${scenarios.length} scenarios, and took \\d+ s `));
});
