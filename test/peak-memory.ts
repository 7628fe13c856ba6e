import { readFileSync } from 'node:fs';

/**
 * The most memory that was resident in this process, in bytes, as Linux counts it since the process began its program
 * (or forgot its peak); elsewhere `maxRSS`, which on Linux begins with the peak of the process that started this one.
 */
export function peakBytes(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024;
  return useOf('self').peakBytes;
}

/** What Linux counts of a process and its threads: their time in hundredths of a second. */
export function useOf(pid: number | 'self') {
  const [, stat = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = stat.split(' ').slice(11, 13).map(Number) as [number, number];
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytesIn = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
  return { cpuMs: (user + system) * 10, residentBytes: bytesIn('VmRSS'), peakBytes: bytesIn('VmHWM') };
}
