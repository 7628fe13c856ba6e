import '../node-24.js';

const { command } = await import('./chaos.ts');
await command(process.argv.slice(2));
