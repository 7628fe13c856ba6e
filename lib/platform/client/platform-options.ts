import type { Settings } from '../../runtime/aws/settings.ts';
import type { PlatformOptions } from './client.ts';

export const platformOptionsOf = (
  settings: Omit<Settings, 'QUEUE_URL' | 'DEAD_LETTER_QUEUE_URL'>,
): PlatformOptions => ({
  baseUrl: settings.PLATFORM_URL,
  apiRoot: settings.PLATFORM_API_ROOT,
  versions: { lp: settings.PLATFORM_LP_VERSION, le: settings.PLATFORM_LE_VERSION },
  overrides: settings.PLATFORM_OPERATIONS,
  connectTimeoutMs: settings.PLATFORM_CONNECT_TIMEOUT_MS,
  headersTimeoutMs: settings.PLATFORM_HEADERS_TIMEOUT_MS,
  bodyTimeoutMs: settings.PLATFORM_BODY_TIMEOUT_MS,
  callsPerMinute: settings.PLATFORM_CALLS_PER_MINUTE,
  containers: settings.PACE_CONTAINERS,
});
