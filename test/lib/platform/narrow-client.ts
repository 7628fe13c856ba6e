/** Registers an OAuth client of a user with these scopes alone on a local platform; its secret, with an access token. */
export const narrowClient = async (
  platform: string,
  { userId, scopes }: { userId: number; scopes: string[] },
) => {
  const client = { clientId: 'narrow', clientSecret: 'the-client-secret' };
  const registered = { method: 'POST', body: JSON.stringify({ ...client, userId, scopes }) };
  await fetch(`${platform}/_local/oauth/clients`, registered);
  const { tokenUrl } = (await (await fetch(`${platform}/_local/oauth`)).json()) as { tokenUrl: string };
  const grant = 'client_credentials' as const;
  const form = { grant_type: grant, client_id: client.clientId, client_secret: client.clientSecret };
  const answer = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token: accessToken } = (await answer.json()) as { access_token: string };
  return { type: 'oauth' as const, grant, tokenUrl, ...client, accessToken };
};
