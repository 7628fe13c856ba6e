const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `sis-relay needs Node 24 or newer, and this is ${process.version}. Run \`npm run chaos\`: it brings its own.`,
  );
  process.exit(1);
}
const { command } = await import('./chaos.ts');
await command(process.argv.slice(2));
