import { EventEmitter } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../../../lib/desk/cli/cli.ts';
import { terminalOf } from '../../../../lib/desk/cli/print/terminal.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../temporary-folder.ts';
import { officesForTests } from './office.ts';

const offices = officesForTests();
let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(removeTemporaryFolders);

/** A process at a terminal, of which a test presses the keys. */
const processAtTerminal = () => {
  const stream = () => Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const streams = { stdin: stream(), stdout: stream(), stderr: stream() };
  let err = '';
  streams.stderr.on('data', (piece) => {
    err += piece;
  });
  const process = Object.assign(new EventEmitter(), streams, { env: {} }) as unknown as NodeJS.Process;
  let out = '';
  streams.stdout.on('data', (piece) => {
    out += piece;
  });
  const asked = async (question: RegExp): Promise<void> => {
    while (!question.test(err + out)) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  return { process, keys: streams.stdin, asked, err: () => err, out: () => out };
};

test.each([
  ['Ctrl-C', (keys: PassThrough) => keys.write('\u0003'), 130, /Stopping/],
  ['Ctrl-D', (keys: PassThrough) => keys.end(), 1, /Nothing was changed/],
  [
    'SIGTERM',
    (_: PassThrough, process: NodeJS.Process) => process.emit('SIGTERM', 'SIGTERM'),
    143,
    /Stopping/,
  ],
])('%s at a prompt changes nothing, and says so by its status', async (_, press, expected, said) => {
  const office = await offices.open();
  await office.park([{}]);
  const file = join(folder, `${office.target.prefix}stack.json`);
  writeFileSync(file, JSON.stringify(office.description()));
  const { process, keys, asked, err } = processAtTerminal();
  const line = ['letters', 'discard', '--all', '--reason', 'r', '--stack', file];
  const status = run(line, terminalOf(process));
  await asked(/Discard 1 letter\?/);
  press(keys, process);
  expect(await status).toBe(expected);
  expect(err()).toMatch(said);
  expect(err()).not.toMatch(/Stopped|Recorded/);
  expect(await office.take(office.deadLetters.url)).toHaveLength(1);
});

test('an edit that is declined is not recorded', async () => {
  const office = await offices.open();
  await office.park([{}]);
  const file = join(folder, `${office.target.prefix}stack.json`);
  writeFileSync(file, JSON.stringify(office.description()));
  const { process, keys, asked, err } = processAtTerminal();
  const line = [
    'letters',
    'edit',
    '--kind',
    'rejected',
    '--set',
    'data.grade.points=7',
    '--reason',
    'r',
    '--stack',
    file,
  ];
  const status = run(line, terminalOf(process));
  await Promise.race([asked(/\[y\/N\]/), status.then(() => expect.fail(err()))]);
  keys.write('n\r');
  expect(await status).toBe(1);
  expect(err()).toMatch(/Nothing was changed/);
  expect(err()).not.toMatch(/Recorded/);
});

test('Enter prints an address for another browser, as long as the console runs', async () => {
  const office = await offices.open();
  const file = join(folder, `${office.target.prefix}stack.json`);
  writeFileSync(file, JSON.stringify(office.description()));
  const { process, keys, asked, out, err } = processAtTerminal();
  const status = run(['console', '--port', '0', '--no-open', '--stack', file], terminalOf(process));
  await Promise.race([asked(/Press Enter for the address/), status.then(() => expect.fail(err()))]);
  keys.write('\r');
  await asked(/For another browser: http:/);
  const [first, second] = [...out().matchAll(/http:\/\/(\S+)\/#token=(\S+)/g)];
  expect(second?.[1]).toBe(first?.[1]);
  expect(second?.[2]).not.toBe(first?.[2]);
  keys.write('\u0003');
  expect(await status).toBe(130);
});
