import { randomBytes } from 'node:crypto';

/** Whose token it is and what it may be used for. */
export type Grant = { clientId: string; userId: number; scopes: string[] };
type AccessToken = Grant & { expiresAtSeconds: number };

/** The opaque tokens that were issued; a refresh token is taken out by its use. */
export function tokenStore() {
  const accessTokens = new Map<string, AccessToken>();
  const refreshTokens = new Map<string, Grant>();

  return {
    issueAccessToken(grant: Grant, expiresAtSeconds: number): string {
      const token = opaque();
      accessTokens.set(token, { ...grant, expiresAtSeconds });
      return token;
    },
    issueRefreshToken(grant: Grant): string {
      const token = opaque();
      refreshTokens.set(token, grant);
      return token;
    },
    accessToken: (token: string) => accessTokens.get(token),
    refreshGrant: (token: string) => refreshTokens.get(token),
    spendRefreshToken: (token: string) => void refreshTokens.delete(token),
    revokeRefreshTokens: () => refreshTokens.clear(),
    expireAccessTokens() {
      for (const token of accessTokens.values()) token.expiresAtSeconds = 0;
    },
    counts: (nowSeconds: number) => ({
      accessTokens: [...accessTokens.values()].filter((token) => token.expiresAtSeconds > nowSeconds).length,
      refreshTokens: refreshTokens.size,
    }),
  };
}

const opaque = () => randomBytes(32).toString('base64url');
