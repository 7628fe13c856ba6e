/** Thrown to refuse a token request; the body is OAuth's own form, no problem document. */
export class TokenRefusal extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: { error: string; error_description: string };

  constructor(body: TokenRefusal['body'], status: number, headers: Record<string, string>) {
    super(body.error);
    this.body = body;
    this.status = status;
    this.headers = headers;
  }
}

export function tokenError(error: string, description: string, status = 400): TokenRefusal {
  const headers: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Basic realm="token"' } : {};
  return new TokenRefusal({ error, error_description: description }, status, headers);
}
