import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Credential } from '../../../lib/platform/auth/auth.ts';
import { control } from '../../local/controls.ts';
import { type LocalPlatform, startPlatform } from '../../local/platform/server.ts';
import { clientAt } from './servers.ts';

export type Row = Record<string, unknown>;

/** The keys of a user of the local platform's default seed; 100 is the service, 200 teaches, 301 and 302 learn. */
export const keysOf = (userId: number): Credential => ({
  type: 'id-key',
  appId: 'local-app',
  appKey: 'local-app-key',
  userId: String(userId),
  userKey: `local-key-${userId}`,
});

/** The local platform for a test file, back to its default seed before each test, and clients for it. */
export const localPlatform = () => {
  let platform: LocalPlatform;
  beforeAll(async () => {
    platform = await startPlatform();
  });
  beforeEach(() => control(platform.url, 'POST reset'));
  afterAll(() => platform.close());

  /** The platform as a credential's user sees it, and what each call reported. */
  const as = (credential: number | Credential, options: Parameters<typeof clientAt>[1] = {}) => {
    const given = typeof credential === 'number' ? keysOf(credential) : credential;
    const read = async () => ({ credential: given, version: '1' });
    return clientAt(platform.url, { credentials: { read, refuse: () => undefined }, ...options });
  };

  return {
    url: () => platform.url,
    tokenUrl: () => platform.tokenUrl,
    as,
    control: <Answer = unknown>(call: Parameters<typeof control>[1], body?: unknown) =>
      control<Answer>(platform.url, call, body),
    rows: async (table: string): Promise<Row[]> =>
      (await control<Record<string, Row[]>>(platform.url, `GET state?only=${table}`))[table] ?? [],
    requests: () => control<Row[]>(platform.url, 'GET requests'),
  };
};

/** A file to be uploaded, whole in memory. */
export const fileOf = (text: string, { fileName = 'file.txt', contentType = 'text/plain' } = {}) => {
  const bytes = Buffer.from(text);
  const stream = async function* () {
    yield bytes;
  };
  return { fileName, contentType, file: { bytes: bytes.length, stream } };
};

export const collected = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
};
