#!/usr/bin/env node
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `sis-relay needs Node 24 or newer, and this is ${process.version}. Run \`npm exec -- sis-relay\` in its folder: npm finds the Node that it brings.`,
  );
  process.exit(2);
}
const [{ run }, { terminalOf }] = await Promise.all([import('./cli.ts'), import('./print/terminal.ts')]);
process.exitCode = await run(process.argv.slice(2), terminalOf(process));
