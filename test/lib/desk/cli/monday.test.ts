// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { allCauses, mondayOffice } from '../messages/letters/monday-office.ts';
import { typed } from './typed.ts';

/** Letters of each cause; the proof `monday` asks for 300. */
const each = Number(process.env.LETTERS_PER_KIND ?? 8);
/** If more than ten learners lack their secret, one command lists all of these, and one sends their letters afterwards. */
const maxCommands = each > 10 ? 14 : 12;

const { office, ...monday } = mondayOffice(each, allCauses);

/** What would undo the command is no next step. */
const undo = /^To restore/;

/** The first command that the lines offer, as it is printed. */
const offeredIn = (printed: string): string | undefined =>
  printed
    .split('\n')
    .flatMap((line) => /^(.*?)\bsis-relay (.+ --stack \S+)$/.exec(line)?.slice(1) ?? [])
    .flatMap((part, at, parts) => (at % 2 === 1 && !undo.test((parts[at - 1] ?? '').trim()) ? part : []))[0];

/** What only a person knows: the SIS says which grade was meant. */
const filledIn = (line: string): string =>
  line
    .replace('data.grade.points=<value>', 'data.grade.points=7')
    .replace('<why>', '"the SIS lost the points"');

test('a stranger works off a Monday by the commands that each answer offers', {
  timeout: 1_200_000,
}, async () => {
  await monday.befall();
  await monday.detain();
  await monday.passes();

  const lines: string[] = [];
  const startedMs = performance.now();
  const type = async (line: string): Promise<string> => {
    lines.push(line);
    const before = await monday.waiting();
    const { status, out, err } = await typed(filledIn(line), {
      answers: Array.from({ length: 5 }, () => 'y'),
      onAsk: monday.heed,
    });
    // A first step that does not work is a wrong one. What a look was to show may have ended meanwhile.
    const most = /^(waiting|letters (groups|list)) --/.test(line) ? 1 : 0;
    expect(status, [...lines, out + err].join('\n')).toBeLessThanOrEqual(most);
    await monday.heed(out);
    while (line.startsWith('waiting wake') && (await monday.waiting()) >= before) await sleep(50);
    return out;
  };
  const status = `status --stack ${office.file}`;
  let next: string | undefined = status;
  let answer = '';
  while (next !== undefined && lines.length <= maxCommands) {
    answer = await type(next);
    const [, first = ''] = /What to do first\n(.*?)(?:\n\n|$)/s.exec(answer) ?? [];
    next = next === status ? offeredIn(first) : (offeredIn(answer) ?? status);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  process.stdout.write(
    `${[`${each * 13} letters by ${lines.length} commands in ${seconds.toFixed(0)} s:`, ...lines].join('\n  ')}\n`,
  );
  expect(answer).toContain('Nothing. All is well.');
  expect(lines.length).toBeLessThanOrEqual(maxCommands);
  await monday.expectDone(7);
  await monday.expectReleased();
});
