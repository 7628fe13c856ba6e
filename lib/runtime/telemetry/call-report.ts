import type { Priority } from '../../message/priority.ts';

import type { SafeText } from '../../message/safe-text.ts';

/** One request and its answer, for metrics, logs and the ledger. */
export type CallReport = {
  operation: SafeText;
  /** `METHOD /path`, without query. */
  call: SafeText;
  /** Undefined if no answer came. */
  status: number | undefined;
  durationMs: number;
  /** False only if it is certain that the call changed nothing on the platform. */
  mayHaveActed: boolean;
  priority: Priority;
};
