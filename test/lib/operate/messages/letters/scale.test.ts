// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { countsOf } from '../../../../../lib/operate/messages/letters/queue.ts';
import { officesForTests } from '../../../show/cli/office.ts';
import { openConsole } from '../../../show/console/attacker.ts';

/** The proof `measure-letters` asks for 100,000. */
const letters = Number(process.env.SCALE_LETTERS ?? 1_000);

const offices = officesForTests();
const folder = mkdtempSync(join(tmpdir(), 'sis-relay-scale-'));
afterAll(() => rmSync(folder, { recursive: true }));
const bin = resolve(import.meta.dirname, '../../../../../lib/show/cli/sis-relay.js');

const tellPeak = `import { peakBytes } from '${new URL('../../../../peak-memory.ts', import.meta.url)}';
process.on('exit', () => process.stderr.write('peak ' + peakBytes() + '\\n'));`;

/** Of all that 100,000 letters are made of, so little may be in memory at once; a process that wants more dies. */
const heapMb = 128;

/** The command in a process of its own: its answer, how long it took, and the most memory that it had. */
const measured = async (file: string, command: string) => {
  const args = [
    `--max-old-space-size=${heapMb}`,
    '--import',
    `data:text/javascript,${encodeURIComponent(tellPeak)}`,
    bin,
    ...command.split(' '),
    '--stack',
    file,
  ];
  const startedMs = performance.now();
  const child = spawn(process.execPath, args);
  let out = '';
  let err = '';
  child.stdout.on('data', (piece) => {
    out += piece;
  });
  child.stderr.on('data', (piece) => {
    err += piece;
  });
  const [status] = await once(child, 'exit');
  process.stdout.write(`${command}: ${((performance.now() - startedMs) / 1000).toFixed(1)} s\n`);
  const memoryMb = Number(/peak (\d+)/.exec(err)?.[1]) / 2 ** 20;
  return { status, out, seconds: (performance.now() - startedMs) / 1000, memoryMb };
};

test(`${letters.toLocaleString('en-US')} letters are listed, grouped and planned in little memory, and none is hidden`, async () => {
  const office = await offices.open();
  const file = join(folder, 'stack.json');
  writeFileSync(file, JSON.stringify(office.description()));
  const kinds = ['rejected', 'invalid', 'missing-scope', 'unavailable', 'throttled'] as const;
  for (let from = 0; from < letters; from += 1_000)
    await office.park(
      Array.from({ length: Math.min(1_000, letters - from) }, (_, at) => ({
        failure: { kind: kinds[at % 5]! },
      })),
      { list: false },
    );
  const made = await measured(file, 'letters reindex --json');
  expect(JSON.parse(made.out)).toMatchObject({ letters, added: letters, whole: true });

  const groups = await measured(file, 'letters groups --json');
  expect(groups.status).toBe(0);
  expect(JSON.parse(groups.out)).toMatchObject({ listed: letters, queued: letters, matching: letters });
  const list = await measured(file, 'letters list --kind rejected --json');
  expect(JSON.parse(list.out)).toMatchObject({ matching: letters / 5 });
  const person = await measured(file, 'letters list --user 302 --json');
  expect(JSON.parse(person.out)).toMatchObject({ matching: 0 });
  const plan = await measured(file, 'letters replay --dry-run --no-probe --json');
  expect(JSON.parse(plan.out).plan).toMatchObject({ matching: letters });
  const scan = await measured(file, 'letters reindex --json');
  expect(JSON.parse(scan.out)).toMatchObject({ letters, added: 0, removed: 0, whole: true });
  for (const [name, { seconds, memoryMb }] of Object.entries({ made, groups, list, person, plan, scan })) {
    process.stdout.write(
      `${name} of ${letters} letters: ${seconds.toFixed(1)} s, ${memoryMb.toFixed(0)} MB\n`,
    );
    // The function that reads the whole queue on schedule has 512 MB.
    expect(memoryMb).toBeLessThan(350);
  }
  const served = await openConsole(office.target);
  const shown = async (what: string, path: string) => {
    const startedMs = performance.now();
    const { status, text } = await served.get(path);
    const ms = performance.now() - startedMs;
    process.stdout.write(`console, ${what}: ${ms.toFixed(0)} ms, ${(text.length / 1024).toFixed(0)} KB\n`);
    expect(status).toBe(200);
    return text;
  };
  const all = `of ${letters.toLocaleString('en-US')}`;
  expect(await shown('the first screen after its start', '/letters')).toContain(all);
  expect(await shown('the first screen', '/letters')).toContain(all);
  await shown('a kind', '/letters?kind=rejected');
  await shown('a person', '/letters?user=302');
  await shown('a text', '/letters?error=not+found');
  await shown('sorted by kind', '/letters?sort=kind');
  await shown('sorted by kind, page 500', '/letters?sort=kind&page=500');
  await shown('causes', '/causes');
  await shown('the overview', '/');
  await served.close();
  const sqs = await office.target.sqs();
  expect(await countsOf({ sqs, url: office.deadLetters.url })).toEqual({
    visible: letters,
    inFlight: 0,
    delayed: 0,
  });
}, 900_000);
