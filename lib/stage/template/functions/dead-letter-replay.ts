import { connectionSettings } from '../../connection/connection-settings.ts';
import { onCallSettings } from '../../on-call-settings.ts';
import { highestOver } from '../alarms.ts';
import {
  deadLettersArn,
  leadingKeys,
  ledgerArn,
  letterIndexArn,
  letterIndexByListArn,
  objects,
} from '../stage-arns.ts';
import type { FunctionParts } from './function-parts.ts';

const daySeconds = 86_400;

// How long a refresh token lasts concerns an alarm of connection-check alone.
const { credential, ...replaySettings } = connectionSettings;

export const deadLetterReplay: FunctionParts = {
  function: 'dead-letter-replay',
  settings: { ...replaySettings, ...onCallSettings },
  rights: ({ queueNamed, queues }) => [
    {
      Action: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:ChangeMessageVisibility'],
      Resource: deadLettersArn,
    },
    { Action: ['sqs:GetQueueUrl', 'sqs:GetQueueAttributes'], Resource: queueNamed('*') },
    // A letter goes back to the queue of its function.
    { Action: ['sqs:SendMessage'], Resource: queues },
    // It does what an operator does.
    { Action: ['s3:PutObject'], Resource: objects('audit/*-operator.json') },
    { Action: ['s3:GetObject'], Resource: objects('letters/*') },
    // It keeps the lists of the letter index correct.
    {
      Action: [
        'dynamodb:BatchGetItem',
        'dynamodb:BatchWriteItem',
        'dynamodb:UpdateItem',
        'dynamodb:DeleteItem',
      ],
      Resource: letterIndexArn,
    },
    { Action: ['dynamodb:Query'], Resource: letterIndexByListArn },
    // Which functions are paused, and since when, and when the last message came.
    { Action: ['dynamodb:GetItem'], Resource: ledgerArn, Condition: leadingKeys('paused/*', 'arrived/*') },
    {
      Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
      Resource: ledgerArn,
      Condition: leadingKeys('on-call'),
    },
    {
      Action: ['dynamodb:GetItem'],
      Resource: ledgerArn,
      Condition: leadingKeys('incident/service-credential'),
    },
  ],
  alarms: ({ metric }) => ({
    // 10 days. SQS' own metric leaves out what was received thrice, as each letter was after an hour of dead-letter-replay.
    LettersNearTheirEnd: {
      severity: 'today',
      text: 'A dead letter is 10 days old, and SQS deletes it after 14 days. Replay it, discard it, or export it.',
      command: 'letters list --until 10d',
      see: 'letters-are-about-to-expire',
      ...highestOver(10 * daySeconds, [metric('LetterAge', { function: 'dead-letter-replay' })], {
        Period: 1800,
      }),
    },
    PausedForLong: {
      severity: 'today',
      text: 'A function has been paused for more than a day. `status` shows which one, by whom and why. SQS deletes a message 14 days after it was sent.',
      see: 'a-function-must-stop-for-a-while',
      ...highestOver(daySeconds, [metric('PauseAge', { function: 'dead-letter-replay' })], { Period: 1800 }),
    },
  }),
};
