import * as z from 'zod';
import {
  hourOfDay,
  percent,
  type SettingGroups,
  type StageSetting,
  schedule,
  type ValuesOf,
} from '../../runtime/aws/setting.ts';
import { jobSettings, tableSettings } from '../../runtime/aws/settings.ts';

export const fillSettings = {
  ...jobSettings,
  limits: {
    ...jobSettings.limits,
    maxRemovalsPercent: {
      variable: 'CROSSWALK_MAXIMUM_REMOVALS_PERCENT',
      schema: percent,
      usual: 5,
      parameter: 'crosswalkMaximumRemovalsPercent',
      description:
        'If a fill would remove more than this percentage of the names of a kind, it removes none of them until a person has accepted it.',
    },
    classlistsHour: {
      variable: 'CROSSWALK_CLASSLISTS_HOUR',
      schema: hourOfDay,
      usual: 3,
      parameter: 'classlistsHour',
      description:
        'If there is no `crosswalk/users.csv`, users are read from classlists once a day, from this hour of UTC on.',
    },
  },
  tables: { ...tableSettings, crosswalk: { ...tableSettings.crosswalk, schema: z.string() } },
  fill: {
    bucket: {
      variable: 'CROSSWALK_BUCKET',
      schema: z.string(),
      deployed: { Ref: 'Files' },
      description: 'The bucket of the university’s files of names, under `crosswalk/`.',
    },
  },
} satisfies SettingGroups;

export type FillSettings = ValuesOf<typeof fillSettings>;

export const fillStageSettings = {
  crosswalkRate: {
    schema: schedule,
    usual: 'cron(17 * * * ? *)',
    description: 'When the crosswalk is filled.',
  },
} satisfies Record<string, StageSetting>;
