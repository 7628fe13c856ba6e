import './node-24.js';

await import('./all.ts');
