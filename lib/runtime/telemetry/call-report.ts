import type { Priority } from '../../message/priority.ts';

/** One request and its answer, for metrics, logs and the ledger. */
export type CallReport = {
  operation: string;
  /** `METHOD /path`, without query. */
  call: string;
  /** Undefined if no answer came. */
  status: number | undefined;
  durationMs: number;
  /** False only if it is certain that the call changed nothing on the platform. */
  mayHaveActed: boolean;
  priority: Priority;
};
