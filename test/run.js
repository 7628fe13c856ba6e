// What npm scripts run, in words that every shell takes: `node test/run.js [NAME=value …] FILE [OPTION …]`.
// It is JavaScript, and checks first, because an older Node cannot read the TypeScript that follows.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

if (!existsSync(join(import.meta.dirname, '../node_modules'))) {
  console.error('The packages are not installed yet. Run `npm ci` first.');
  process.exit(1);
}
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `sis-relay needs Node 24 or newer, but this is Node ${process.version}. Run \`npm start\`, \`npm test\` or \`npm run …\`: on Linux, macOS and Windows (x64) they use the Node that the project brings.`,
  );
  process.exit(1);
}
// The shell between npm and this process does not pass on the signal that ends npm: that the shell is gone tells as much.
const { ppid, env } = process;
if (env.npm_lifecycle_event !== undefined && process.platform !== 'win32') {
  const watch = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 300).unref();
}

const [node, , ...words] = process.argv;
while (/^[A-Z_]+=/.test(words[0] ?? '')) {
  const [name, value] = words.shift().split('=');
  process.env[name] ??= value;
}
const file = resolve(import.meta.dirname, '..', words.shift() ?? '');
process.argv = [node, file, ...words];
const { command } = await import(pathToFileURL(file).href);
await command?.(words);
