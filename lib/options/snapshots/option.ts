import type { Option } from '../../option.ts';

/** Exports that the SIS puts into the bucket: what has changed since the last one is sent. */
export const snapshots = {
  name: 'snapshots',
  functions: ['snapshot-import'],
  roles: {
    'snapshots list': 'reader',
    'snapshots show': 'reader',
    'snapshots diff': 'operator',
    'snapshots put': 'lead',
    'snapshots approve': 'lead',
    'snapshots reject': 'lead',
    'snapshots end': 'lead',
  },
  tabs: ['Snapshots'],
  forms: { '/snapshot-decision': 'snapshots approve' },
  acceptedExports: () => import('./accepted-exports.ts'),
  receivesFiles: true,
  onCall: () => import('./desk/on-call.ts'),
  deployedParts: () => import('./deployed-parts.ts'),
  desk: () => import('./desk/desk.ts'),
} as const satisfies Option;
