import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { writePart } from '../documents.ts';
import { optionsOf } from '../options.ts';
import { type Line, recordingOf, sentenceOf } from './recording.ts';

// `npm run record`: plays `npm start` as on a terminal of this width, and draws what it prints into start.svg, and says in the README how long it took.
optionsOf({}, { usage: '`npm run record` takes no options.' });
const columns = 112;
const asTerminal = `data:text/javascript,process.stdout.isTTY=true;process.stdout.columns=${columns}`;
const child = spawn(process.execPath, ['--import', asTerminal, join(import.meta.dirname, 'start.ts')], {
  env: { ...process.env, FORCE_COLOR: '1', NO_COLOR: undefined },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = once(child, 'close');
const lines: Line[] = [{ atMs: performance.now(), text: '$ npm start' }];
for await (const text of createInterface(child.stdout)) {
  lines.push({ atMs: performance.now(), text });
  process.stdout.write(`${text}\n`);
}
const [status] = await ended;
if (status === 0) {
  const picture = recordingOf(lines, columns);
  writeFileSync(join(import.meta.dirname, 'start.svg'), picture);
  writePart('start', sentenceOf(picture));
}
process.exitCode = status ?? 1;
