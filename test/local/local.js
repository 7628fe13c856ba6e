import '../node-24.js';

await import('./local.ts');
