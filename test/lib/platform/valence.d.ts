declare module 'valence' {
  export type Signer = { createAuthenticatedUrl(path: string, method: string): string };

  export class ApplicationContext {
    constructor(appId: string, appKey: string);
    createUrlForAuthentication(host: string, port: number, callback: string): string;
    createUserContext(host: string, port: number, url: string): Signer;
    createUserContextWithValues(
      host: string,
      port: number,
      userId: string,
      userKey: string,
      skew?: number,
    ): Signer;
  }
}
