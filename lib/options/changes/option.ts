import type { Option } from '../../option.ts';

/** Asks a change-notification service of the SIS, and makes messages of what it says. */
export const changes = {
  name: 'changes',
  functions: ['change-poll'],
  deployedParts: () => import('./deployed-parts.ts'),
} as const satisfies Option;
