import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';

export type Place = { at: number; bytes: number };

/** Keeps on disk the items that are too many for memory. They are gone when the process ends, even if it crashes. */
export const createSpool = async <Item>() => {
  const path = join(tmpdir(), `sis-relay-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  // Letters hold personal data: a deleted file that is still open disappears with the process, and nobody else can open it.
  await rm(path);
  let end = 0;
  return {
    put: async (item: Item): Promise<Place> => {
      const bytes = serialize(item);
      const place = { at: end, bytes: bytes.length };
      end += bytes.length;
      await file.write(bytes, 0, bytes.length, place.at);
      return place;
    },
    get: async ({ at, bytes }: Place): Promise<Item> => {
      const buffer = Buffer.allocUnsafe(bytes);
      await file.read(buffer, 0, bytes, at);
      return deserialize(buffer);
    },
    close: () => file.close(),
  };
};
