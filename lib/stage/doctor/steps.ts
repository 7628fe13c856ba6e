import { accountLimits } from './account.ts';
import { fillOfMetrics, suppression } from './alarms.ts';
import {
  droppedFile,
  durableExecution,
  failedExecution,
  listOfExecutions,
  sqlEngine,
  wakeUp,
} from './executions.ts';
import { keptVisibility } from './mapping.ts';
import { pausedThroughDeployment } from './pause.ts';
import { redrive } from './queues.ts';
import type { Step } from './step.ts';
import { customersKey, refusedWrite } from './tables.ts';

/** In the order in which they are tried. */
export const steps: readonly Step[] = [
  accountLimits,
  refusedWrite,
  customersKey,
  redrive,
  keptVisibility,
  durableExecution,
  listOfExecutions,
  droppedFile,
  failedExecution,
  wakeUp,
  sqlEngine,
  suppression,
  fillOfMetrics,
  pausedThroughDeployment,
];
