#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const project = join(import.meta.dirname, '../../..');
if (!existsSync(join(project, 'node_modules'))) {
  console.error(`sis-relay is not installed yet. Run \`npm ci\` in ${project} first.`);
  process.exit(2);
}
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `sis-relay needs Node 24 or newer, but this is Node ${process.version}. Run \`npx sis-relay\` in the project’s folder: there npm uses the Node that the project brings.`,
  );
  process.exit(2);
}
// Node keeps its compiled form of each source there, and uses it again if the source is unchanged, byte for byte. If the folder cannot be
// written, Node works without it.
process.getBuiltinModule('node:module').enableCompileCache(join(project, '.cache'));
const [{ run }, { terminalOf }] = await Promise.all([import('./cli.ts'), import('./print/terminal.ts')]);
process.exitCode = await run(process.argv.slice(2), terminalOf(process));
