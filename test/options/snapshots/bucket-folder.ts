import { hash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SnapshotStore } from '../../../lib/options/snapshots/state/store.ts';

/** A folder stands for the bucket. */
export const bucketFolder = (folder: string) => {
  const at = (key: string): string => join(folder, key);
  const write = (key: string, content: string | Buffer): void => {
    mkdirSync(dirname(at(key)), { recursive: true });
    writeFileSync(at(key), content);
  };
  const json = (key: string): unknown => JSON.parse(readFileSync(at(key), 'utf8'));
  const store: Partial<SnapshotStore> = {
    readJson: async (key) => json(key),
    writeJson: async (key, value) => write(key, JSON.stringify(value)),
    readJsonIfAny: async (key) => (existsSync(at(key)) ? json(key) : undefined),
    etagOf: async (key) => (existsSync(at(key)) ? '' : undefined),
    keysUnder: async (prefix) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((key) => key.startsWith(prefix))
        .sort(),
    remove: (key) => rm(at(key), { force: true }),
    textIfAny: async (key) => (existsSync(at(key)) ? readFileSync(at(key), 'utf8') : undefined),
    download: async ({ key }, path) => {
      await copyFile(at(key), path);
      return hash('sha256', readFileSync(path));
    },
    open: async (key) => createReadStream(at(key)),
    uploadFile: async (key, path) => {
      mkdirSync(dirname(at(key)), { recursive: true });
      await copyFile(path, at(key));
    },
  };
  return { at, write, json, store: store as SnapshotStore };
};
