import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compareVersions } from '../../../lib/operate/stage/version.ts';

/** A folder for each version, with what it promises. */
export const releases = join(import.meta.dirname, '../released');

/** The newest of which a description is kept. */
export const lastVersion = (): string =>
  readdirSync(releases)
    .filter((name) => /^\d+\.\d+\.\d+$/.test(name))
    .sort(compareVersions)
    .at(-1) ?? '';
