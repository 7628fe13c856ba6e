import type { SettingGroups, StageSetting } from '../../../runtime/aws/setting.ts';
import type { Alarms } from '../alarms.ts';
import type { Resources } from '../cloudformation.ts';
import type { Grant } from '../grant.ts';
import type { PolicyId } from '../people.ts';
import type { StageArns } from '../stage-arns.ts';
import type { StageMetrics } from '../stage-metrics.ts';

/**
 * What the template has for one function alone, beside what follows from its kind. If the function is off, it is left out. It is one
 * value, which the rest of the template knows only by the list in all-function-parts.ts.
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
  /** What `dead-letter-replay` reads of it, for the people on call. */
  onCall?(stage: StageArns): Grant[];
  /** What people may do with it, by the policies that they have. */
  people?(stage: StageArns): Partial<Record<PolicyId, Grant[]>>;
};

/** Operators see the executions of a job, and leads stop them: the name of an execution begins with its function's. */
export const ofJob = (stage: StageArns, name: string): Record<'Operators' | 'Leads', Grant[]> => ({
  Operators: [
    {
      Action: [
        'lambda:ListDurableExecutionsByFunction',
        'lambda:ListVersionsByFunction',
        'lambda:GetDurableExecution',
        'lambda:GetDurableExecutionHistory',
      ],
      Resource: stage.functionsAndVersions(name),
    },
  ],
  Leads: [{ Action: ['lambda:StopDurableExecution'], Resource: stage.functionsAndVersions(name) }],
});
