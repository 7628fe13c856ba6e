import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writtenPart } from '../documents.ts';
import { program } from './program.ts';
import { recordingOf, sentenceOf } from './recording.ts';

const kept = join(import.meta.dirname, 'start.svg');
const escapeCharacter = String.fromCharCode(27);

test('a recording shows each line, with its colours and with what XML would take for its own', () => {
  const picture = recordingOf(
    [
      { atMs: 0, text: '$ npm start' },
      { atMs: 10, text: `${escapeCharacter}[32mdone${escapeCharacter}[39m  a <b> & c` },
      { atMs: 60_000, text: '' },
      { atMs: 60_000, text: 'the end' },
    ],
    80,
  );
  expect(picture).toContain('<tspan class="g">done</tspan>  a &lt;b&gt; &amp; c</text>');
  expect(picture).toContain('the end');
  expect(picture).not.toContain(escapeCharacter);
  // 130 ms for what came at once, 900 ms for what came after a minute, and the last screen.
  expect(picture).toContain('animation:scroll 9.0s step-end infinite');
});

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
