const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `sis-relay needs Node 24 or newer, and this is ${process.version}. Run \`npm run local\`: it brings its own.`,
  );
  process.exit(1);
}
await import('./local.ts');
