import { createCrosswalk } from '../../../../lib/crosswalk/look-up.ts';
import type { Limits, Services } from '../../../../lib/delivery/handle/services.ts';
import { readSettings } from '../../../../lib/runtime/aws/setting.ts';
import { backoffSettings, limitSettings } from '../../../../lib/runtime/aws/settings.ts';
import { createObserve } from '../../../../lib/runtime/telemetry/observe.ts';
import { unpaced } from '../../platform/rate-limit/unpaced.ts';

const defaults = readSettings({ limits: limitSettings, backoff: backoffSettings }, {});

/** The limits of a function of which nothing is set, but for those that a test gives. */
export const limitsForTests = (own: Partial<Limits> = {}): Limits => ({
  ...defaults.limits,
  backoff: defaults.backoff,
  ...own,
});

type Part = 'platform' | 'queues' | 'crosswalk' | 'observe' | 'limits';
/** Of these a test may give some properties alone. */
type Own = Partial<Omit<Services, Part>> & { [Name in Part]?: Partial<Services[Name]> };

/** Services that do nothing, but for those that a test gives. What no test has foreseen fails. */
export const servicesForTests = ({
  platform,
  queues,
  crosswalk,
  observe,
  limits,
  ...own
}: Own = {}): Services => ({
  platform: {
    for: () => {
      throw new Error('the platform was not to be called');
    },
    rateLimiter: unpaced,
    close: async () => undefined,
    ...platform,
  },
  files: { open: async () => Promise.reject(new Error('no file was to be opened')) },
  readSecret: async () => Promise.reject(new Error('no secret was to be read')),
  queues: {
    writeLetter: async () => Promise.reject(new Error('no letter was to be written')),
    delay: async () => undefined,
    ...queues,
  },
  ledger: undefined,
  digest: undefined,
  crosswalk: { ...createCrosswalk({ table: undefined, nowMs: Date.now }), ...crosswalk },
  observe: {
    ...createObserve({ function: 'try-out', namespace: 'sis-relay', level: 'silent', write: () => {} }),
    ...observe,
  },
  limits: limitsForTests(limits),
  nowMs: Date.now,
  ...own,
});
