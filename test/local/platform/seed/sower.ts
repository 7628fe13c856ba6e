import { type Check, or, string } from '../http/bind.ts';
import { sha256 } from '../http/upload.ts';
import type { State, StoredFile } from '../state.ts';

/** Reads one row of a seed, refuses what it does not know, and puts it into the state. */
export type Sower = (row: unknown, where: string, state: State) => void;

export function sower<T>(check: Check<T>, put: (row: T, state: State) => void): Sower {
  return (value, where, state) => put(check(value, where), state);
}

/** The fields by which a row brings a file along. */
export const fileFields = {
  name: or(string, 'image.png'),
  contentType: or(string, 'image/png'),
  base64: string,
};

export function storeFile(
  state: State,
  given: { name: string; contentType: string; base64: string },
): StoredFile {
  const { name, contentType, base64 } = given;
  const bytes = Buffer.from(base64, 'base64');
  const stored = { name, contentType, bytes: bytes.length, sha256: sha256(bytes) };
  state.contents.set(stored.sha256, bytes);
  return stored;
}
