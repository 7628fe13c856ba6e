import { baseString, sign } from './auth/signing.ts';

type Signer = {
  userId: number;
  userKey?: string;
  appId?: string;
  appKey?: string;
  clockSeconds?: () => number;
};
type Call = {
  json?: unknown;
  body?: RequestInit['body'];
  headers?: Record<string, string>;
  query?: Record<string, string>;
};

/** Signs calls as a user of the local platform: for tests of the platform itself, without the API client. */
export function callsAs(url: string, signer: Signer | number) {
  return async (method: string, path: string, call: Call = {}): Promise<Response> => {
    const query = new URLSearchParams({ ...call.query, ...signatureQuery(signer, method, path) });
    const body = call.json === undefined ? call.body : JSON.stringify(call.json);
    const type = call.json === undefined ? {} : { 'Content-Type': 'application/json' };
    return fetch(`${url}${path}?${query}`, {
      method,
      headers: { ...type, ...call.headers },
      ...(body === undefined ? {} : { body, duplex: 'half' }),
      redirect: 'manual',
    } as RequestInit);
  };
}

export function signatureQuery(
  signer: Signer | number,
  method: string,
  path: string,
): Record<string, string> {
  const { userId, ...rest } = typeof signer === 'number' ? { userId: signer } : signer;
  const keys = { userKey: `local-key-${userId}`, appId: 'local-app', appKey: 'local-app-key', ...rest };
  const timestamp = String(keys.clockSeconds?.() ?? Math.floor(Date.now() / 1000));
  const data = baseString(method, path, timestamp);
  return {
    x_a: keys.appId,
    x_b: String(userId),
    x_c: sign(keys.appKey, data),
    x_d: sign(keys.userKey, data),
    x_t: timestamp,
  };
}

/** A request to the control API, named like `POST seed`, and its answer. */
export async function control<T = unknown>(url: string, name: string, body?: unknown): Promise<T> {
  const [method = '', path] = name.split(' ');
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const response = await fetch(`${url}/_local/${path}`, init);
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`);
  return response.json() as Promise<T>;
}
