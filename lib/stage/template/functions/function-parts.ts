import type { SettingGroups, StageSetting } from '../../../runtime/aws/setting.ts';
import type { Alarms } from '../alarms.ts';
import type { Resources } from '../cloudformation.ts';
import type { Grant } from '../grant.ts';
import type { StageArns } from '../stage-arns.ts';
import type { StageMetrics } from '../stage-metrics.ts';

/**
 * What the template has for one function alone, beside what follows from its kind. If the function is off, it is left out. It is one
 * value, which the rest of the template knows only by the list in template.ts.
 */
export type FunctionParts = {
  function: string;
  /** What it reads from its environment. */
  settings: SettingGroups;
  /** What else a stage can set of it. */
  stageSettings?: Record<string, StageSetting>;
  /** What else is deployed. */
  resources?(stage: string): Resources;
  rights(stage: StageArns): Grant[];
  alarms(stage: StageMetrics): Alarms;
};
