import * as z from 'zod';
import { count, type SettingGroups, type ValuesOf } from '../../runtime/aws/setting.ts';
import { jobSettings } from '../../runtime/aws/settings.ts';

export const exportSettings = {
  ...jobSettings,
  limits: {
    ...jobSettings.limits,
    prefix: {
      variable: 'EXPORT_PREFIX',
      schema: z.string().regex(/^([\w.-]+\/)*$/, 'must be empty, or a folder such as course-exports/'),
      usual: 'course-exports/',
      description: 'The folder of the exported files in the bucket.',
    },
    concurrency: {
      variable: 'EXPORT_CONCURRENCY',
      schema: count,
      usual: 4,
      description: 'Number of courses that are exported at once.',
    },
  },
  export: {
    bucket: {
      variable: 'EXPORT_BUCKET',
      schema: z.string(),
      deployed: { Ref: 'Files' },
      description: 'The bucket of the exported files.',
    },
  },
} satisfies SettingGroups;

export type ExportSettings = ValuesOf<typeof exportSettings>;
