import {
  type Alarms,
  type CompositeAlarm,
  counted,
  highestOver,
  inGroups,
  listed,
  oneCountedOver,
  silent,
} from './alarms.ts';
import type { StageMetrics } from './stage-metrics.ts';

/** Names of functions that are deployed. */
export type FunctionNames = {
  all: string[];
  queued: string[];
  durable: string[];
  /** What a schedule starts every 15 minutes or more often. */
  polling: string[];
};

/** Alarms about more than one function. Those about one are in functions/. */
export const stageAlarms = (names: FunctionNames, stage: StageMetrics): Alarms => ({
  ...aboutFunctions(names, stage),
  ...aboutLetters(stage),
  ...aboutQueues(names, stage),
});

const aboutFunctions = (
  { all, durable, polling }: FunctionNames,
  { metric, lambdaMetric, alive }: StageMetrics,
): Alarms => ({
  // A message that waits is tried again within half an hour: its refusal counts for an hour.
  CredentialRefused: {
    text: 'A credential is refused or cannot be read. `sis-relay status` and the log of the function name the secret and who must act. Messages wait for up to a day.',
    see: 'letters-of-each-kind',
    ...counted([metric('Refusals', { kind: 'credentials' })]),
    EvaluationPeriods: 12,
  },
  AwsRefused: {
    text: 'AWS refuses an action that a function needs. `sis-relay status` and the log of the function name the action, the resource and who must act. Messages wait for up to a day.',
    see: 'letters-of-each-kind',
    ...counted([metric('Refusals', { kind: 'aws-refused' })]),
    EvaluationPeriods: 12,
  },
  // What an error cut off is tried again: one error of a function heals by itself, and a function that cannot start has one after the other.
  ...inGroups('FunctionErrors', all, (group) => ({
    text: `One of these functions fails again and again: ${listed(group)}. Its log shows the reason: settings, memory or time.`,
    see: 'a-function-fails-or-does-not-start',
    ...oneCountedOver(
      1,
      group.map((name) => lambdaMetric('Errors', name)),
    ),
    EvaluationPeriods: 1,
  })),
  // Of an execution that fails, the function itself reports no error.
  ...inGroups('JobsFailed', durable, (group) => ({
    text: `An execution failed or did not finish in its time, of one of these functions: ${listed(group)}. What it had done is kept.`,
    see: 'a-function-fails-or-does-not-start',
    ...counted(
      group.flatMap((name) => [
        lambdaMetric('DurableExecutionFailed', name),
        lambdaMetric('DurableExecutionTimedOut', name),
      ]),
    ),
  })),
  SchedulesSilent: {
    text: `For an hour, one of these functions was not started, though its schedule starts it every 15 minutes or more often: ${listed(polling)}.`,
    see: 'a-function-fails-or-does-not-start',
    ...silent(
      polling.map((name) => lambdaMetric('Invocations', name)),
      alive,
      { Period: 900 },
    ),
    DatapointsToAlarm: 4,
    EvaluationPeriods: 4,
  },
});

/** By who must act. Letters that the schedule replays need nobody unless they stay, which LettersAny tells. */
const aboutLetters = ({ metric, queueMetric }: StageMetrics): Alarms => ({
  LettersProducer: {
    text: 'Messages were parked that the student information system must correct. `sis-relay letters groups` shows what is wrong with them.',
    see: 'there-are-many-letters',
    ...counted([metric('Letters', { responsible: 'producer' })]),
  },
  LettersAccess: {
    text: 'Messages were parked because a scope, a permission or a learner’s credential is missing. `sis-relay letters groups` names it.',
    see: 'letters-of-each-kind',
    ...counted([metric('Letters', { responsible: 'access' })]),
  },
  LettersPlatform: {
    text: 'Messages were parked because the platform’s answers are not understood. `sis-relay letters groups` shows the answers.',
    see: 'letters-of-each-kind',
    ...counted([metric('Letters', { responsible: 'platform' })]),
  },
  LettersOperator: {
    text: 'Messages were parked that need a decision of yours, or on which a function died or has a bug. `sis-relay letters groups` shows which.',
    see: 'there-are-many-letters',
    ...counted([metric('Letters', { responsible: 'operator' })]),
  },
  // The schedule replays such a letter three times, and a page in front of the platform for a moment heals by itself.
  LettersIntercepted: {
    text: 'Again and again, something in front of the platform has answered in its place, and messages were parked. `sis-relay letters groups` shows the answers.',
    see: 'letters-of-each-kind',
    ...counted([metric('Letters', { kind: 'intercepted' })]),
    DatapointsToAlarm: 3,
    EvaluationPeriods: 12,
  },
  // Also those that SQS itself moved, of which nobody else knows. The schedule replays every 15 minutes what heals by itself; while it
  // reads the queue, SQS shows no letter.
  LettersAny: {
    text: 'For most of an hour, there have been dead letters. `sis-relay letters groups` shows who must do what.',
    see: 'there-are-many-letters',
    ...highestOver(0, [queueMetric('ApproximateNumberOfMessagesVisible', 'dead-letters')]),
    DatapointsToAlarm: 8,
    EvaluationPeriods: 13,
  },
});

const aboutQueues = ({ queued }: FunctionNames, { metric, queueMetric }: StageMetrics): Alarms => ({
  ...inGroups('QueueOldest', queued, (group) => ({
    text: `A message has been for half an hour on the queue of one of these functions, which does not keep up or does not run: ${listed(group)}. Messages that wait for another try do not count.`,
    see: 'messages-wait',
    isPart: true,
    ...highestOver(
      1800,
      group.map((name) => queueMetric('ApproximateAgeOfOldestMessage', name)),
    ),
  })),
  // An unknown id is given three hours, after which it is no longer waiting. No message waits for an hour between two attempts.
  WaitingTooLong: {
    text: 'A message has been waiting for four hours. After a day it becomes a dead letter.',
    see: 'messages-wait',
    isPart: true,
    ...highestOver(14_400, [metric('WaitingAge', {})]),
    EvaluationPeriods: 12,
  },
  // A message that waits is in flight until its next try. At 120,000 SQS hands out none of the others, and says so to nobody.
  ...inGroups('InFlight', queued, (group) => ({
    text: `More than 60,000 messages of one of these functions wait for their next try: ${listed(group)}. From 80,000 on, more of them become letters: at 120,000, SQS hands out no others. \`sis-relay waiting\` shows for what they wait.`,
    see: 'too-many-messages-wait-in-one-queue',
    ...highestOver(
      60_000,
      group.map((name) => queueMetric('ApproximateNumberOfMessagesNotVisible', name)),
    ),
  })),
});

/**
 * That messages wait says nothing new where all of them wait, and another alarm says why. What holds up some of them must not hide that
 * others wait for another reason.
 */
export const compositeAlarms = (alarms: Alarms): Record<string, CompositeAlarm> => ({
  Waiting: {
    text: 'Messages wait, or lie on their queue unhandled. It is silent while all messages wait for what `ConnectionFails` or `ServiceRefused` tells.',
    see: 'messages-wait',
    anyOf: Object.keys(alarms).filter((id) => alarms[id]?.isPart),
    ActionsSuppressor: 'Outage',
  },
  Outage: {
    text: 'Another alarm already reports why all messages wait. This one suppresses `Waiting` and sends no mail.',
    see: 'messages-wait',
    anyOf: ['ConnectionFails', 'ServiceRefused'],
  },
});
