import type { Option } from '../../option.ts';

/** Fills the crosswalk from the platform's lists and the university's files. */
export const crosswalkFill = {
  name: 'crosswalk-fill',
  functions: ['crosswalk-fill'],
  roles: {
    'crosswalk show': 'reader',
    'crosswalk moved': 'reader',
    'crosswalk accept': 'lead',
    'crosswalk fill': 'lead',
  },
  tabs: ['Crosswalk'],
  forms: { '/crosswalk-accept': 'crosswalk accept', '/crosswalk-fill': 'crosswalk fill' },
  readOnlyForms: ['/crosswalk'],
  onCall: () => import('./desk/on-call.ts'),
  deployedParts: () => import('./deployed-parts.ts'),
  desk: () => import('./desk/desk.ts'),
} as const satisfies Option;
