import '../node-24.js';

await import('./start.ts');
