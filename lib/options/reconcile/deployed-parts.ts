import { counted, silent } from '../../stage/template/alarms.ts';
import { type FunctionParts, ofJob } from '../../stage/template/functions/function-parts.ts';
import {
  bucketArn,
  crosswalkArn,
  leadingKeys,
  ledgerArn,
  ledgerKey,
  objects,
  prefixes,
} from '../../stage/template/stage-arns.ts';
import { faultClasses } from './classes.ts';
import { reconcileSettings, reconcileStageSettings } from './reconcile-settings.ts';

export const deployedParts: FunctionParts = {
  function: 'reconcile',
  settings: reconcileSettings,
  stageSettings: reconcileStageSettings,
  rights: ({ integrations, queueOf }) => {
    const compared = integrations.filter(({ effect }) => effect);
    const changes = new Set(compared.flatMap((each) => each.changes));
    return [
      { Action: ['secretsmanager:GetSecretValue'], Resource: ledgerKey },
      { Action: ['dynamodb:BatchGetItem'], Resource: crosswalkArn },
      // A scan has no leading keys that a condition could name. The function ignores items of other resources.
      { Action: ['dynamodb:Scan'], Resource: ledgerArn },
      // Whether a difference was written again meanwhile.
      {
        Action: ['dynamodb:GetItem'],
        Resource: ledgerArn,
        Condition: leadingKeys(...[...changes].map((kind) => `${kind}/*`)),
      },
      { Action: ['s3:GetObject', 's3:PutObject'], Resource: objects('reconcile/*') },
      // The last snapshots of the SIS, and the crosswalk.
      { Action: ['s3:GetObject'], Resource: objects('snapshot-records/*', 'crosswalk-state/filled/*') },
      {
        Action: ['s3:ListBucket'],
        Resource: bucketArn,
        Condition: prefixes('reconcile/*', 'snapshot-records/*', 'crosswalk-state/filled/*'),
      },
      // Messages that operators have it send again.
      { Action: ['sqs:SendMessage'], Resource: compared.map(queueOf) },
    ];
  },
  alarms: ({ metric, alive }) => ({
    // One night may be too short, or the platform may be down. A comparison may also end later than the one of the night before, so more than
    // 24 hours between two are no fault.
    ReconcileSilent: {
      severity: 'this week',
      text: 'For three nights, no comparison of the platform with what was sent has finished.',
      command: 'reconcile report',
      see: 'lib/options/reconcile/README.md#no-comparison-is-whole',
      ...silent([metric('ReconcileRuns', { outcome: 'whole' })], alive),
      DatapointsToAlarm: 80,
      EvaluationPeriods: 80,
    },
    ReconcileFaults: {
      severity: 'today',
      text: 'Something that was sent is missing, older or different on the platform, or cannot be read there.',
      command: 'reconcile show',
      see: 'lib/options/reconcile/README.md#are-all-grades-there',
      ...counted(faultClasses.map((fault) => metric('ReconcileWrites', { class: fault }))),
    },
  }),
  people: (stage) => {
    const job = ofJob(stage, 'reconcile');
    return {
      Readers: [
        { Action: ['s3:GetObject'], Resource: objects('reconcile/*.json', 'reconcile/*.jsonl') },
        { Action: ['s3:ListBucket'], Resource: bucketArn, Condition: prefixes('reconcile/*') },
      ],
      Operators: [
        ...job.Operators,
        // The lists of what the SIS must send again.
        { Action: ['s3:GetObject'], Resource: objects('reconcile/resends/*') },
        { Action: ['lambda:InvokeFunction'], Resource: stage.aliases('reconcile') },
      ],
      Leads: [
        ...job.Leads,
        { Action: ['s3:PutObject'], Resource: objects('reconcile/accepted/*', 'reconcile/resends/*') },
      ],
    };
  },
};
