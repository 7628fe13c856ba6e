import { setMaxListeners } from 'node:events';
import * as z from 'zod';
import { authorizationServer, tokenPath } from './auth/authorization-server.ts';
import type { App } from './auth/signing.ts';
import { defaultClient, defaultSeed } from './default-seed.ts';
import { faultList } from './faults.ts';
import { id } from './http/bind.ts';
import { emptyState, sow } from './state.ts';

/** What stays the same from the platform's start to its end. */
type Site = {
  url: string;
  segment: string;
  spool: string;
  app: App;
  /** Told of what is a fault of this program, not of its caller. */
  onBug(error: unknown): void;
};
/** `userId` is whom it claims to come from; `status` stays null as long as no answer was given. Never a value of a query. */
type LoggedRequest = {
  at: string;
  method: string;
  path: string;
  queryNames: string[];
  userId: number | null;
  status: number | null;
};

/**
 * How the platform behaves where deployments differ: the length of a page, whether the demographics field that is
 * known to fail does, who is signed in when the token entry path is opened in a browser, whether a GET is answered
 * though its keys are refused, as it is known of some (by default each call must be proved), and how the flags of an LTI link
 * are called that are named after the platform's vendor.
 */
export const settingsShape = z.strictObject({
  pageSize: id.default(100),
  demographicsFields: z.enum(['fail', 'create']).default('fail'),
  signedInUserId: id.default(100),
  invalidTokenReads: z.enum(['refuse', 'answer']).default('refuse'),
  ltiVendorFlags: z
    .array(z.string())
    .default(['SendVendorUserName', 'SendVendorOrgDefinedId', 'SendVendorRoleId']),
});

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
  oauth.add(defaultClient);

  return {
    site: { ...site, docsUrl: `${site.url}/docs`, apiRoot: `/${site.segment}/api` },
    state,
    clock,
    nowMs,
    nowSeconds,
    oauth,
    nowIso: () => new Date(nowMs()).toISOString(),
    settings: settingsShape.parse({}),
    faults: faultList(),
    /** Every request but those to the control API, in order. */
    requests: [] as LoggedRequest[],
    rateLimit: rateLimit(),
    end,
  };
}

const creditsPerCall = 10;
const unlimited = 1_000_000_000;

/** Credits that are spent by each call and come back, all at once, when the window ends. */
function rateLimit() {
  let limit = unlimited;
  let windowMs = 60_000;
  let windowEnds = 0;
  let remaining = limit;

  return {
    set({ creditsPerMinute, windowSeconds }: { creditsPerMinute: number | null; windowSeconds: number }) {
      limit = creditsPerMinute ?? unlimited;
      windowMs = windowSeconds * 1000;
      windowEnds = 0;
    },
    /** Spends one call's credits; the headers go on the answer, whatever it will be. */
    spend(nowMs = Date.now()) {
      if (nowMs >= windowEnds) {
        windowEnds = nowMs + windowMs;
        remaining = limit;
      }
      const granted = remaining >= creditsPerCall;
      if (granted) remaining -= creditsPerCall;
      const resetSeconds = String(Math.ceil((windowEnds - nowMs) / 1000));
      const headers = {
        'X-Rate-Limit-Remaining': String(remaining),
        'X-Rate-Limit-Reset': resetSeconds,
        'X-Request-Cost': String(creditsPerCall),
        ...(granted ? {} : { 'Retry-After': resetSeconds }),
      };
      return { granted, headers };
    },
  };
}
