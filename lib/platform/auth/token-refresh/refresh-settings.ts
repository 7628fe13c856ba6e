import { count, type SettingGroups, type ValuesOf } from '../../../runtime/aws/setting.ts';
import { secretSettings, telemetrySettings } from '../../../runtime/aws/settings.ts';

export const refreshSettings = {
  secrets: { prefix: secretSettings.prefix },
  telemetry: telemetrySettings,
  tokens: {
    timeoutMs: {
      variable: 'TOKEN_TIMEOUT_MS',
      schema: count,
      usual: 30_000,
      description: 'Time limit of a request for a token, in milliseconds.',
    },
  },
} satisfies SettingGroups;

export type RefreshSettings = ValuesOf<typeof refreshSettings>;
