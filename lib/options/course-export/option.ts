import type { Option } from '../../option.ts';

/** Writes what the platform holds of courses into the bucket. */
export const courseExport = {
  name: 'course-export',
  functions: ['course-export'],
  deployedParts: () => import('./deployed-parts.ts'),
} as const satisfies Option;
