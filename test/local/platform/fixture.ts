import { afterAll, beforeAll, beforeEach } from 'vitest';
import { startPlatform } from './server.ts';
import { callsAs, control } from './signed-call.ts';

export type Row = Record<string, unknown>;

/** One platform for a test file, back to its default seed before each test. */
export function platformForTests(options: Parameters<typeof startPlatform>[0] = {}) {
  let platform: Awaited<ReturnType<typeof startPlatform>>;
  beforeAll(async () => {
    platform = await startPlatform(options);
  });
  beforeEach(() => control(platform.url, 'POST reset'));
  afterAll(() => platform.close());
  const everything = () => control<Record<string, Row[]>>(platform.url, 'GET state');

  return {
    url: () => platform.url,
    as: (signer: Parameters<typeof callsAs>[1]) => callsAs(platform.url, signer),
    control: (name: string, body?: unknown) => control(platform.url, name, body),
    everything,
    state: async (table: string) => (await everything())[table] ?? [],
    requests: () => control<Row[]>(platform.url, 'GET requests'),
  };
}

/** The body of a JSON answer, in the form that the test expects. */
export async function jsonOf<T = Row>(response: Response): Promise<T> {
  return (await response.json()) as T;
}

/** A body of multipart/mixed with the boundary `b`, byte for byte as it is told. */
export const mixed = (...parts: string[]) => `${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`;
export const mixedType = 'multipart/mixed; boundary=b';

export const jsonPart = (value: unknown) => `Content-Type: application/json\r\n\r\n${JSON.stringify(value)}`;

export const filePart = (name: string, body = 'bytes') =>
  `Content-Disposition: form-data; name=""; filename="${name}"\r\nContent-Type: text/plain\r\n\r\n${body}`;
