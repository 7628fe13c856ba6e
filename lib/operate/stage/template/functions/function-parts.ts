import type { Alarms } from '../alarms.ts';
import type { Grant } from '../grant.ts';
import type { StageArns } from '../stage-arns.ts';
import type { StageMetrics } from '../stage-metrics.ts';

/**
 * What the template has for one function alone, beside what follows from its kind. If the function is off, it is left out. It is one
 * value, which the rest of the template knows only by the list in template.ts.
 */
export type FunctionParts = {
  function: string;
  rights(stage: StageArns): Grant[];
  alarms(stage: StageMetrics): Alarms;
};
