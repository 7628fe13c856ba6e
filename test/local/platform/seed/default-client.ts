import type { OAuthClient } from '../auth/oauth-client.ts';

/** An OAuth client of the service user, allowed whatever the user's roles allow. */
export const defaultClient: OAuthClient = {
  clientId: 'local-client',
  clientSecret: 'local-client-secret',
  publicKeys: [],
  userId: 100,
  scopes: ['*:*:*'],
  grants: ['client_credentials', 'refresh_token'],
  accessTokenSeconds: 3600,
};
