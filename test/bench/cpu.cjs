// Tells on the fourth stream, in milliseconds, what CPU the process has taken. CommonJS, which loads before a module system.
const { writeSync } = require('node:fs');

process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  writeSync(3, String((userCPUTime + systemCPUTime) / 1000));
});
