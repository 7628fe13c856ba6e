import { expect, test } from 'vitest';
import { failureKinds } from '../../../lib/message/failure-kinds.ts';
import { connectionFailure, networkRemedyIn } from '../../../lib/message/network-errors.ts';
import { ownText, safe } from '../../../lib/message/safe-text.ts';
import { failureOf } from '../../../lib/platform/client/failure-of.ts';
import { PlatformError } from '../../../lib/platform/client/platform-error.ts';
import { getWhoAmI } from '../../../lib/platform/resources/users.ts';
import { operations } from '../platform/servers.ts';

const failed = (code: string) =>
  failureOf(
    new PlatformError({
      operation: getWhoAmI,
      call: safe`GET /users/whoami`,
      sent: false,
      message: connectionFailure(ownText(code)),
    }),
  );

test.each([
  ['CERT_HAS_EXPIRED', 'no connection, as the certificate is out of date', 'to renew the certificate'],
  ['CERT_NOT_YET_VALID', 'no connection, as the certificate is out of date', 'renew the certificate'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'no connection, as the certificate is for another host', 'PLATFORM_URL'],
  [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'no connection, as the certificate is not trusted',
    'If a proxy decrypts the traffic',
  ],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'no connection, as the certificate is not trusted',
    'complete and valid chain',
  ],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'no connection, as TLS failed', 'scheme and port in PLATFORM_URL'],
  ['EPROTO', 'no connection, as TLS failed', 'enable TLS 1.2'],
  ['ENOTFOUND', 'no connection, as the host’s name does not resolve', 'DNS to restore the name'],
])('%s is somebody’s to mend: whose, and until when', (code, what, whose) => {
  const { kind, message, remedy } = failed(code);
  expect([kind, message]).toEqual(['unavailable', `GET /users/whoami: ${what} (${code})`]);
  expect(remedy).toContain(whose);
  expect(remedy).toContain('usually for up to a day');
  // Also from a record, which holds the words alone.
  expect(networkRemedyIn(`GET /<id>/whoami: ${what} (${code})`)).toBe(remedy);
});

test.each([
  ['ECONNREFUSED', 'no connection'],
  ['EAI_AGAIN', 'no connection'],
  ['UND_ERR_CONNECT_TIMEOUT', 'no connection'],
  ['UND_ERR_HEADERS_TIMEOUT', 'no answer in time'],
  ['ETIMEDOUT', 'no answer in time'],
  ['ECONNRESET', 'cut off before the answer was complete'],
])('%s heals by itself', (code, what) => {
  const { message, remedy } = failed(code);
  expect([message, remedy]).toEqual([
    `GET /users/whoami: ${what} (${code})`,
    failureKinds.unavailable.remedy,
  ]);
});

test('a call that may have had its effect has first to be decided', () => {
  const { kind, remedy } = failureOf(
    new PlatformError({
      operation: operations.readOnce,
      call: safe`PUT /things/1`,
      sent: true,
      message: connectionFailure(ownText('ENOTFOUND')),
    }),
  );
  expect([kind, remedy]).toEqual(['uncertain', failureKinds.uncertain.remedy]);
});
