import { countedAnew, highestOver, silent } from '../../stage/template/alarms.ts';
import { type FunctionParts, ofJob } from '../../stage/template/functions/function-parts.ts';
import type { Grant } from '../../stage/template/grant.ts';
import { bucketArn, crosswalkArn, leadingKeys, objects, prefixes } from '../../stage/template/stage-arns.ts';
import { fillSettings, fillStageSettings } from './fill-settings.ts';

/** Codes that moved, and names that are held. */
const looked: Grant = {
  Action: ['s3:GetObject'],
  Resource: objects('crosswalk-state/filled/moved-*.json', 'crosswalk-state/filled/held.json'),
};

export const deployedParts: FunctionParts = {
  function: 'crosswalk-fill',
  settings: fillSettings,
  stageSettings: fillStageSettings,
  rights: () => [
    {
      Action: ['dynamodb:BatchGetItem', 'dynamodb:BatchWriteItem', 'dynamodb:UpdateItem'],
      Resource: crosswalkArn,
    },
    // The university's files, and whether they exist.
    { Action: ['s3:GetObject'], Resource: objects('crosswalk/*.csv', 'crosswalk-state/*') },
    {
      Action: ['s3:ListBucket'],
      Resource: bucketArn,
      Condition: prefixes('crosswalk/*', 'crosswalk-state/*'),
    },
    {
      Action: ['s3:PutObject'],
      Resource: objects('crosswalk/report.csv', 'crosswalk-state/filled/*', 'crosswalk-state/executions/*'),
    },
  ],
  alarms: ({ metric, alive }) => ({
    CrosswalkSilent: {
      severity: 'today',
      text: 'For more than a day, no fill of the crosswalk has started.',
      see: 'a-function-fails-or-does-not-start',
      ...silent([metric('CrosswalkRuns', { function: 'crosswalk-fill' })], alive),
      DatapointsToAlarm: 26,
      EvaluationPeriods: 26,
    },
    // Each fill reports the next two, every hour.
    CrosswalkHeld: {
      severity: 'today',
      text: 'The crosswalk keeps names that it had: a list or a file would remove too many of them, would give too many to other users, lost a column, or cannot be read. The log of `crosswalk-fill` shows which one.',
      see: 'lib/options/crosswalk-fill/README.md#the-crosswalk-keeps-what-it-had',
      ...highestOver(0, [metric('CrosswalkFills', { outcome: 'held' })], { Period: 3600 }),
    },
    CrosswalkMoved: {
      severity: 'today',
      text: 'A code has moved to another org unit, and messages with it are parked. `crosswalk accept` accepts a move.',
      command: 'crosswalk moved',
      see: 'lib/options/crosswalk-fill/README.md#a-code-has-moved-to-another-org-unit',
      ...highestOver(0, [metric('CrosswalkMoved', { function: 'crosswalk-fill' })], { Period: 3600 }),
    },
    CrosswalkUndecided: {
      severity: 'today',
      text: 'Names that the crosswalk keeps, or codes that moved, still wait for a decision.',
      see: 'lib/options/crosswalk-fill/README.md#what-operators-do',
      ...countedAnew([metric('Decisions', { what: 'names' })]),
    },
  }),
  onCall: () => [
    looked,
    { Action: ['s3:ListBucket'], Resource: bucketArn, Condition: prefixes('crosswalk-state/filled/*') },
    { Action: ['dynamodb:BatchGetItem'], Resource: crosswalkArn },
  ],
  people: (stage) => {
    const job = ofJob(stage, 'crosswalk-fill');
    return {
      Readers: [looked],
      Operators: job.Operators,
      Leads: [
        ...job.Leads,
        // Decides on a code that moved.
        { Action: ['dynamodb:PutItem'], Resource: crosswalkArn, Condition: leadingKeys('accepted/*') },
        // A fill may accept that many names are gone, which IAM does not see.
        { Action: ['lambda:InvokeFunction'], Resource: stage.aliases('crosswalk-fill') },
      ],
      Producers: [
        { Action: ['s3:PutObject'], Resource: objects('crosswalk/users.csv', 'crosswalk/org-units.csv') },
      ],
    };
  },
};
