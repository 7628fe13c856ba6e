import type { Option } from '../../option.ts';

/** Compares every night what the platform holds with what was sent to it. */
export const reconcile = {
  name: 'reconcile',
  functions: ['reconcile'],
  roles: {
    'reconcile show': 'reader',
    'reconcile report': 'reader',
    'reconcile run': 'operator',
    'reconcile accept': 'lead',
    'reconcile resend': 'lead',
  },
  tabs: ['Reconcile'],
  forms: { '/reconcile-decision': 'reconcile accept' },
  deployedParts: () => import('./deployed-parts.ts'),
  desk: () => import('./desk/desk.ts'),
} as const satisfies Option;
