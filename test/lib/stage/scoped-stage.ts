import type { Credential } from '../../../lib/platform/auth/auth.ts';
import type { Operation } from '../../../lib/platform/client/operation.ts';
import { scopesOf } from '../../../lib/stage/scopes.ts';
import { integrationStage } from '../../integration-stage.ts';
import { narrowClient } from '../platform/narrow-client.ts';

/** The specification names no scope for this call, and so the local platform asks for none: this site does. */
const own = 'users:own_profile:read';

/** A stage on which the service, and every user, has a token with the scopes that were granted last, and no other. */
export function scopedStage() {
  let granted: Credential;
  const stage = integrationStage({ credentialOf: () => granted });
  return {
    stage,
    credential: () => granted,
    grant: async (scopes: string[], userId = 100) => {
      granted = await narrowClient(stage.description().platform, { userId, scopes });
      if (scopes.includes(own)) return;
      const detail = `Insufficient scope to call API. Required: ${own}`;
      const body = { title: 'Not Authorized', detail, status: 403 };
      const headers = { 'content-type': 'application/problem+json' };
      await stage.controls().fault({ status: 403, headers, body }, { path: '/users/whoami$', times: 9 });
    },
  };
}

export const scopesNeededBy = (operations: readonly Operation<unknown>[]): string[] =>
  scopesOf({ operations }).map(({ scope }) => scope);
