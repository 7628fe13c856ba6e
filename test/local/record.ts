import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Line, recordingOf } from './recording.ts';

// `npm run record`: plays `npm start` as on a terminal of this width, and draws what it prints into start.svg.
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
if (status === 0) writeFileSync(join(import.meta.dirname, 'start.svg'), recordingOf(lines, columns));
process.exitCode = status ?? 1;
