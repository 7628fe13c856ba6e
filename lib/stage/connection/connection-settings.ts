import { days, type SettingGroups, type ValuesOf } from '../../runtime/aws/setting.ts';
import {
  fileSettings,
  fileSizeSettings,
  ledgerSettings,
  limitSettings,
  platformSettings,
  secretSettings,
} from '../../runtime/aws/settings.ts';

/** Those by which functions reach the platform, so that a check and an operator meet the same problems. */
export const connectionSettings = {
  platform: platformSettings,
  secrets: secretSettings,
  ledger: { lateEffectMs: ledgerSettings.lateEffectMs },
  files: fileSettings,
  limits: { attemptTimeoutMs: limitSettings.attemptTimeoutMs, ...fileSizeSettings },
  credential: {
    refreshTokenDays: {
      variable: 'REFRESH_TOKEN_DAYS',
      schema: days.optional(),
      parameter: 'refreshTokenDays',
      description:
        "After how many days without use a refresh token ends: an alarm goes off a week before. `''`: unknown.",
    },
  },
} satisfies SettingGroups;

export type ConnectionSettings = ValuesOf<typeof connectionSettings>;
