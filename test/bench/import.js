// JavaScript, so that what reads TypeScript is not there before the function is, and counts for nobody.
const [module] = process.argv.slice(2);

process.once('message', async () => {
  const startedMs = performance.now();
  await import(module);
  process.send(performance.now() - startedMs);
});
