/** What happens to a message that fails. Each kind has a row, so that a new kind does not compile without one. */
export const dispositions = {
  invalid: 'park',
  rejected: 'park',
  'unexpected-answer': 'park',
  intercepted: 'park',
  'missing-scope': 'park',
  'missing-permission': 'park',
  'missing-credential': 'park',
  uncertain: 'park',
  outdated: 'park',
  crashed: 'park',
  defect: 'park',
  'ambiguous-id': 'park',
  'unknown-id': 'wait',
  credentials: 'wait',
  'aws-refused': 'wait',
  throttled: 'wait',
  unavailable: 'wait',
} as const;

/**
 * Who must act once a letter of the kind is written; alarms depend on it. The schedule replays letters that need no person once
 * their cause is gone.
 */
export const responsible = {
  invalid: 'producer',
  rejected: 'producer',
  'unexpected-answer': 'platform',
  intercepted: 'schedule',
  'missing-scope': 'access',
  'missing-permission': 'access',
  'missing-credential': 'access',
  uncertain: 'operator',
  outdated: 'operator',
  crashed: 'operator',
  defect: 'operator',
  'ambiguous-id': 'producer',
  'unknown-id': 'producer',
  credentials: 'schedule',
  'aws-refused': 'schedule',
  throttled: 'schedule',
  unavailable: 'schedule',
} as const satisfies Record<keyof typeof dispositions, string>;
