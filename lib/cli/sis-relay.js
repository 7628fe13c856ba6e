#!/usr/bin/env node
import { join } from 'node:path';

const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `sis-relay needs Node 24 or newer, but this is Node ${process.version}. Run \`npm exec -- sis-relay\` in the project’s folder: npm uses the Node that the project brings.`,
  );
  process.exit(2);
}
// Node keeps there what it has made of each source, and takes it again where the source is the same, byte for byte. Where
// nothing can be written, it does without.
process.getBuiltinModule('node:module').enableCompileCache(join(import.meta.dirname, '../../.cache'));
const [{ run }, { terminalOf }] = await Promise.all([import('./cli.ts'), import('./print/terminal.ts')]);
process.exitCode = await run(process.argv.slice(2), terminalOf(process));
