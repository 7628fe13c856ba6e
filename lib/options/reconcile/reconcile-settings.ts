import * as z from 'zod';
import {
  count,
  hoursAsMs,
  type SettingGroups,
  type StageSetting,
  schedule,
  secondsAsMs,
  type ValuesOf,
} from '../../runtime/aws/setting.ts';
import {
  jobSettings,
  ledgerSettings,
  letterSettings,
  limitSettings,
  tableSettings,
} from '../../runtime/aws/settings.ts';

/** It sends to the queues of other functions. */
export const reconcileSettings = {
  ...jobSettings,
  letters: letterSettings,
  tables: { ...tableSettings, ledger: { ...tableSettings.ledger, schema: z.string() } },
  ledger: {
    keySecret: { ...ledgerSettings.keySecret, schema: z.string(), deployed: { Ref: 'LedgerKey' } },
  },
  limits: {
    ...jobSettings.limits,
    maxWaitMs: limitSettings.maxWaitMs,
    attemptTimeoutMs: limitSettings.attemptTimeoutMs,
    visibilityMs: limitSettings.visibilityMs,
    recentMs: {
      variable: 'RECONCILE_RECENT_HOURS',
      schema: hoursAsMs,
      usual: 25,
      description: 'Every write that is at most this many hours old is compared.',
    },
    sampleSize: {
      variable: 'RECONCILE_SAMPLE',
      schema: count,
      usual: 30_000,
      parameter: 'reconcileSample',
      description: 'Approximate number of older writes that are compared each night, chosen at random.',
    },
    nights: {
      variable: 'RECONCILE_NIGHTS',
      schema: count,
      usual: 28,
      parameter: 'reconcileNights',
      description: 'Older writes take turns, so that each is compared once in this many nights.',
    },
    maxRunMs: {
      variable: 'RECONCILE_LONGEST_HOURS',
      schema: hoursAsMs,
      usual: 8,
      parameter: 'reconcileLongestHours',
      description: 'A comparison is cut off after this time, in hours, and reports how far it came.',
    },
  },
  reconcile: {
    bucket: {
      variable: 'RECONCILE_BUCKET',
      schema: z.string(),
      deployed: { Ref: 'Files' },
      description: 'The bucket of the results, under `reconcile/`.',
    },
    backlogMs: {
      variable: 'QUEUE_BACKLOG_SECONDS',
      schema: secondsAsMs,
      usual: 2_700,
      description:
        'A message that its queue delivers again is received within this time, in seconds, even if its first receipts fail.',
    },
    concurrency: {
      variable: 'RECONCILE_CONCURRENCY',
      schema: count,
      usual: 16,
      description: 'Number of calls of the platform at once.',
    },
  },
} satisfies SettingGroups;

export type ReconcileSettings = ValuesOf<typeof reconcileSettings>;

export const reconcileStageSettings = {
  reconcileRate: {
    schema: schedule,
    usual: 'cron(17 1 * * ? *)',
    description:
      'When the platform is compared with what was sent, at most once a day. What was written in the last day is compared every time.',
  },
} satisfies Record<string, StageSetting>;
