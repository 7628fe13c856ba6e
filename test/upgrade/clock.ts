/** What a process must load to live at another time, and with ids in a row instead of random ones, which cannot be compressed. */
export const nodeOptions = (aheadMs: number, { idsInARow = false } = {}): string => {
  const program = `
    import crypto from 'node:crypto';
    import { syncBuiltinESMExports } from 'node:module';
    ${idsInARow ? `(${countIds})(crypto, process.pid); syncBuiltinESMExports();` : ''}
    globalThis.Date = (${movedDate})(Date, ${aheadMs});`;
  return `--import=data:text/javascript,${encodeURIComponent(program)}`;
};

const ours = Date;

/** This process, too: answers how far that is from this machine's time. */
export const liveAt = (ms: number): number => {
  const aheadMs = Math.round(ms - ours.now());
  globalThis.Date = movedDate(ours, aheadMs);
  return aheadMs;
};

/** This process lives at the machine's time again. */
export const liveNow = (): void => {
  globalThis.Date = ours;
};

function movedDate(real: DateConstructor, aheadMs: number): DateConstructor {
  const now = () => real.now() + aheadMs;
  return new Proxy(real, {
    get: (_, name) => (name === 'now' ? now : Reflect.get(real, name)),
    construct: (_, given) => Reflect.construct(real, given.length === 0 ? [now()] : given),
  });
}

function countIds(crypto: { randomUUID(): string }, pid: number): void {
  let ids = 0;
  const digits = (value: number, length: number): string => value.toString(16).padStart(length, '0');
  crypto.randomUUID = () => {
    ids += 1;
    return `00000000-0000-4000-8000-${digits(pid % 2 ** 24, 6)}${digits(ids, 6)}`;
  };
}

/** For this process: as `idsInARow`. */
export const useIdsInARow = countIds;
