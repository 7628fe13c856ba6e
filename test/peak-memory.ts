import { readFileSync } from 'node:fs';

/**
 * The most memory that was resident in this process, in bytes, as Linux counts it since the process began its program
 * (or forgot its peak); elsewhere `maxRSS`, which on Linux begins with the peak of the process that started this one.
 */
export function peakBytes(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
}
