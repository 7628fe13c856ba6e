// JavaScript, so that what reads TypeScript is not there before the function is, and counts for nobody.
const [module] = process.argv.slice(2);

process.once('message', async ({ event, context }) => {
  const before = process.memoryUsage.rss();
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  const { handler } = await import(module);
  const importMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpu);
  const residentBytes = process.memoryUsage.rss();
  const { batchItemFailures } = event ? await handler(event, contextOf(context)) : { batchItemFailures: [] };
  const firstMs = performance.now() - startedMs;
  const whole = process.cpuUsage(cpu);
  process.send({
    importMs,
    importCpuMs: (user + system) / 1000,
    firstMs,
    firstCpuMs: (whole.user + whole.system) / 1000,
    residentBytes,
    grownBytes: residentBytes - before,
    failed: batchItemFailures.length,
  });
});

const contextOf = (context) => ({ ...context, getRemainingTimeInMillis: () => 60_000 });
