// Imported before any TypeScript, which an older Node cannot read: it ends here, with a sentence.
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `sis-relay needs Node 24 or newer, and this is ${process.version}. Run \`npm start\`, \`npm test\` or \`npm run …\`: it brings its own.`,
  );
  process.exit(1);
}
