import { counted, silent } from '../../stage/template/alarms.ts';
import { type FunctionParts, ofJob } from '../../stage/template/functions/function-parts.ts';
import { objects } from '../../stage/template/stage-arns.ts';
import { exportSettings } from './export-settings.ts';

export const deployedParts: FunctionParts = {
  function: 'course-export',
  settings: exportSettings,
  rights: () => [
    { Action: ['s3:PutObject', 's3:AbortMultipartUpload'], Resource: objects('course-exports/*') },
    // Results of an execution that are too large for its records.
    { Action: ['s3:GetObject'], Resource: objects('course-exports/executions/*') },
  ],
  alarms: ({ metric, alive }) => ({
    ExportIncomplete: {
      severity: 'this week',
      text: 'An export of courses is incomplete or empty. Its `manifest.json` says what failed and who must do what.',
      see: 'lib/options/course-export/README.md#export-courses',
      ...counted([
        metric('ExportRuns', { outcome: 'incomplete' }),
        metric('ExportRuns', { outcome: 'empty' }),
      ]),
    },
    // Two runs may be more than 24 hours apart, so the alarm waits for 26. Exports that people start do not count.
    ExportSilent: {
      severity: 'this week',
      text: 'For more than a day, the schedule has not started `course-export`.',
      see: 'a-function-fails-or-does-not-start',
      ...silent([metric('NightlyExports', { function: 'course-export' })], alive),
      DatapointsToAlarm: 26,
      EvaluationPeriods: 26,
    },
  }),
  people: (stage) => {
    const { Operators, Leads } = ofJob(stage, 'course-export');
    return {
      Operators,
      Leads: [...Leads, { Action: ['lambda:InvokeFunction'], Resource: stage.aliases('course-export') }],
    };
  },
};
