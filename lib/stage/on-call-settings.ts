import * as z from 'zod';
import { hourOfDay, type SettingGroups } from '../runtime/aws/setting.ts';
import { expectedSchema, timeZoneSchema } from './expected.ts';

/** When people are told what waits for them. */
export const onCallSettings = {
  onCall: {
    expected: {
      variable: 'EXPECTED',
      schema: expectedSchema,
      usual: '',
      deployed: `\${param:expected}`,
      description: 'What is expected to come.',
    },
    timeZone: {
      variable: 'TIME_ZONE',
      schema: timeZoneSchema,
      usual: 'UTC',
      parameter: 'timeZone',
      description: 'The time zone of `expected` and `morningHour`, such as `Europe/Vienna`.',
    },
    morningHour: {
      variable: 'MORNING_HOUR',
      schema: hourOfDay,
      usual: 7,
      parameter: 'morningHour',
      description: 'From this hour on, each day, a mail reports what waits for a person’s decision.',
    },
    off: {
      variable: 'FUNCTIONS_OFF',
      schema: z.string().transform((text) => text.split(',').filter(Boolean)),
      usual: '',
      deployed: `\${param:off}`,
      description: 'Functions that are not deployed.',
    },
  },
} satisfies SettingGroups;
