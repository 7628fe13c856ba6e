import { setMaxListeners } from 'node:events';
import { authorizationServer, tokenPath } from './auth/authorization-server.ts';
import type { App } from './auth/signing.ts';
import { faultList } from './faults.ts';
import { rateLimit } from './rate-limit.ts';
import { requestLog } from './request-log.ts';
import { defaultSeed } from './seed/default.ts';
import { defaultClient } from './seed/default-client.ts';
import { sow } from './seed/sow.ts';
import { defaultSettings } from './settings.ts';
import { emptyState } from './state.ts';

/** What stays the same from the platform's start to its end. */
type Site = {
  url: string;
  segment: string;
  spool: string;
  app: App;
  /** Told of what is a fault of this program, not of its caller. */
  onBug(error: unknown): void;
};
export type World = ReturnType<typeof freshWorld>;

/** The platform as it is at its start, and again after each reset. */
export function freshWorld(site: Site) {
  const state = emptyState();
  sow(state, defaultSeed);
  const end = new AbortController();
  // Each delayed request listens for the end.
  setMaxListeners(0, end.signal);
  const clock = { skewSeconds: 0 };
  const nowMs = () => Date.now() + clock.skewSeconds * 1000;

  const nowSeconds = () => Math.floor(nowMs() / 1000);
  const oauth = authorizationServer({ tokenUrl: `${site.url}${tokenPath}`, nowSeconds });
  oauth.clients.set(defaultClient.clientId, defaultClient);

  return {
    site: { ...site, docsUrl: `${site.url}/docs`, apiRoot: `/${site.segment}/api` },
    app: { ...site.app },
    state,
    clock,
    nowMs,
    nowSeconds,
    oauth,
    nowIso: () => new Date(nowMs()).toISOString(),
    settings: { ...defaultSettings },
    faults: faultList(),
    requests: requestLog(),
    rateLimit: rateLimit(),
    end,
  };
}
