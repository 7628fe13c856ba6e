import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';

/** Where a thing lies in the spool. */
export type Place = { at: number; bytes: number };

/** Keeps things on disk that are too many for memory, until the process ends, however it does. */
export type Spool<Thing> = {
  put(thing: Thing): Promise<Place>;
  get(place: Place): Promise<Thing>;
  close(): Promise<void>;
};

export const createSpool = async <Thing>(): Promise<Spool<Thing>> => {
  const path = join(tmpdir(), `sis-relay-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  // Letters hold personal data: a file without a name is gone with the process, and nobody else can open it.
  await rm(path);
  let end = 0;
  return {
    put: async (thing) => {
      const bytes = serialize(thing);
      const place = { at: end, bytes: bytes.length };
      end += bytes.length;
      await file.write(bytes, 0, bytes.length, place.at);
      return place;
    },
    get: async ({ at, bytes }) => {
      const buffer = Buffer.allocUnsafe(bytes);
      await file.read(buffer, 0, bytes, at);
      return deserialize(buffer);
    },
    close: () => file.close(),
  };
};
