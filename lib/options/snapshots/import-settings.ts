import * as z from 'zod';
import { count, hoursAsSeconds, type SettingGroups, type ValuesOf } from '../../runtime/aws/setting.ts';
import {
  backoffSettings,
  letterSettings,
  limitSettings,
  storeSettings,
  telemetrySettings,
} from '../../runtime/aws/settings.ts';

/** snapshot-import calls no platform, and has no queue. */
export const importSettings = {
  letters: letterSettings,
  backoff: backoffSettings,
  telemetry: telemetrySettings,
  store: storeSettings,
  limits: {
    approvalSeconds: {
      variable: 'APPROVAL_LONGEST_HOURS',
      schema: hoursAsSeconds,
      usual: 168,
      description: 'How long an import waits for the decision of a person, in hours; then it is rejected.',
    },
    eventsPerPart: {
      variable: 'EVENTS_PER_PART',
      schema: count,
      usual: 5_000,
      description:
        'Number of events that one step sends. An import has at most 1,000 steps: a larger one sends more events in each.',
    },
    reserveMs: {
      ...limitSettings.reserveMs,
      usual: 60_000,
      description:
        'Time that is kept free at the end of an invocation, in milliseconds: with less left, no further step sends.',
    },
  },
  import: {
    bucket: {
      variable: 'SNAPSHOT_BUCKET',
      schema: z.string(),
      deployed: { Ref: 'Files' },
      description: 'The bucket of the exports, under `snapshots/`.',
    },
  },
} satisfies SettingGroups;

export type ImportSettings = ValuesOf<typeof importSettings>;
