import { createAuthenticator } from '../../../lib/platform/auth/auth.ts';
import { createPlatformClient } from '../../../lib/platform/client/client.ts';
import { acknowledged } from '../../../lib/platform/client/operation.ts';

/**
 * A process that a test freezes: it makes a call for each message that it gets, and answers what came of it. `sleptMs` is
 * added to its clock, so that a short freeze passes for a long one.
 */
type Wish = { url: string; repeatable: boolean; sleptMs: number };

const credential = { type: 'id-key', appId: 'a', appKey: 'b', userId: 'c', userKey: 'd' } as const;
const clientAt = (baseUrl: string) =>
  createPlatformClient(
    {
      baseUrl,
      apiRoot: '',
      versions: { lp: '1', le: '1' },
      overrides: {},
      connectTimeoutMs: 2_000,
      headersTimeoutMs: 5_000,
      bodyTimeoutMs: 5_000,
    },
    createAuthenticator({ read: async () => ({ credential, version: '1' }), refuse: () => {} }),
  ).for({ actor: undefined, signal, onCall: () => {} });
const signal = new AbortController().signal;
const platforms = new Map<string, ReturnType<typeof clientAt>>();
const realNow = Date.now;

process.on('message', ({ url, repeatable, sleptMs }: Wish) => {
  const platform = platforms.get(url) ?? clientAt(url);
  platforms.set(url, platform);
  const before = Date.now;
  Date.now = () => before() + sleptMs;
  const declared = acknowledged({
    name: 'x',
    call: 'POST /x',
    scope: undefined,
    repeatable,
  });
  platform.call(declared).then(
    () => process.send?.('done'),
    (error: Error) => process.send?.(error.message),
  );
});
process.on('disconnect', () => process.exit());
process.send?.(realNow());
