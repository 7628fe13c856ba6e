import { counted } from '../../stage/template/alarms.ts';
import type { FunctionParts } from '../../stage/template/functions/function-parts.ts';
import { leadingKeys, ledgerArn, objects } from '../../stage/template/stage-arns.ts';
import { pollSettings } from './poll-settings.ts';

export const deployedParts: FunctionParts = {
  function: 'change-poll',
  settings: pollSettings,
  rights: ({ queues, secretNamed }) => [
    { Action: ['s3:GetObject'], Resource: objects('change-poll/mapping.json') },
    { Action: ['s3:PutObject'], Resource: objects('change-poll/refused/*') },
    // What a deletion without content takes away.
    { Action: ['s3:GetObject', 's3:PutObject'], Resource: objects('change-poll/removals/*') },
    // The mapping may name each function.
    { Action: ['sqs:SendMessage'], Resource: queues },
    { Action: ['secretsmanager:GetSecretValue'], Resource: secretNamed('changes-??????') },
    // The position up to which changes were sent.
    {
      Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
      Resource: ledgerArn,
      Condition: leadingKeys('changes/*'),
    },
  ],
  alarms: ({ metric }) => ({
    // A run that fails is the next minute's work.
    ChangesUnread: {
      severity: 'act now',
      text: 'For a quarter of an hour, changes of the student information system could not be read. The log of `change-poll` shows why. If the mapping makes no message of several notices in a row, `change-poll` stops before them. No change is lost.',
      see: 'lib/options/changes/README.md#change-notices-are-not-read-or-refused',
      ...counted([metric('ChangePollsFailed', { function: 'change-poll' })]),
      DatapointsToAlarm: 3,
      EvaluationPeriods: 4,
    },
    ChangesRefused: {
      severity: 'today',
      text: 'The mapping makes no message of a change. The change is under `change-poll/refused/` in the bucket, with what is wrong.',
      see: 'lib/options/changes/README.md#change-notices-are-not-read-or-refused',
      ...counted([metric('ChangeNotices', { outcome: 'refused' })]),
    },
  }),
  people: (stage) => ({
    // Passes a page of which the mapping makes no message.
    Leads: [{ Action: ['lambda:InvokeFunction'], Resource: stage.functions('change-poll') }],
  }),
};
