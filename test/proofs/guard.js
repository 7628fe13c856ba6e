// `node test/proofs/guard.js FILE …` runs it with Node, and ends all of its process group once stdin ends: then whoever has started this
// wants that, or was killed and can no longer say so. It is a process of its own, as what it runs may be deaf while it waits for another.
import { spawn } from 'node:child_process';

const graceMs = 10_000;
const isWindows = process.platform === 'win32';

const child = spawn(process.execPath, process.argv.slice(2), { stdio: ['ignore', 'inherit', 'inherit'] });
child.once('exit', (status) => process.exit(status ?? 1));

/** To the whole group, which this process leads, as what was started has started others. */
const signal = (name) => (isWindows ? child.kill(name) : process.kill(-process.pid, name));

process.on('SIGTERM', () => {});
process.stdin.resume().once('end', () => {
  signal('SIGTERM');
  setTimeout(() => signal('SIGKILL'), graceMs);
});
