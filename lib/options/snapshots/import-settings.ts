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
      description:
        'How long a snapshot that removes too much waits for a person, in hours; then it is rejected.',
    },
    eventsPerPart: {
      variable: 'EVENTS_PER_PART',
      schema: count,
      usual: 5_000,
      description: 'Number of events that one step sends, unless there are more than 1,000 times as many.',
    },
    reserveMs: {
      ...limitSettings.reserveMs,
      usual: 60_000,
      description: 'No part is sent with less time left in an invocation, in milliseconds.',
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
