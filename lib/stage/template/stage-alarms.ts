import {
  type FailureKind,
  failureKindNames,
  failureKinds,
  type LetterKind,
  otherLetterKindNames,
} from '../../message/failure-kinds.ts';
import { expectedSchema } from '../expected.ts';
import { unknownName } from '../nearest.ts';
import {
  type Alarms,
  type CompositeAlarm,
  counted,
  countedAnew,
  highestOver,
  inGroups,
  listed,
  oneCountedOver,
  silent,
  sumOver,
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
    severity: 'act now',
    text: 'A credential is refused or cannot be read. `status` and the log of the function name the secret and who must act. Messages wait for up to a day.',
    see: 'letters-of-each-kind',
    ...counted([metric('Refusals', { kind: 'credentials' })]),
    EvaluationPeriods: 12,
  },
  AwsRefused: {
    severity: 'act now',
    text: 'AWS refuses an action that a function needs. `status` and the log of the function name the action, the resource and who must act. Messages wait for up to a day.',
    see: 'letters-of-each-kind',
    ...counted([metric('Refusals', { kind: 'aws-refused' })]),
    EvaluationPeriods: 12,
  },
  // What an error cut off is tried again: one error of a function heals by itself, and a function that cannot start has one after the other.
  ...inGroups('FunctionErrors', all, (group) => ({
    severity: 'act now',
    text: `One of these functions fails again and again: ${listed(group)}. If that began with a deployment, deploy the former version again. Otherwise the function’s log shows the reason: settings, memory or time.`,
    see: 'a-bad-version-is-deployed',
    ...oneCountedOver(
      1,
      group.map((name) => lambdaMetric('Errors', name)),
    ),
    EvaluationPeriods: 1,
  })),
  // Of an execution that fails, the function itself reports no error.
  ...inGroups('JobsFailed', durable, (group) => ({
    severity: 'today',
    text: `An execution of one of these functions failed or did not finish in time: ${listed(group)}. What it has done is kept.`,
    see: 'a-function-fails-or-does-not-start',
    ...counted(
      group.flatMap((name) => [
        lambdaMetric('DurableExecutionFailed', name),
        lambdaMetric('DurableExecutionTimedOut', name),
      ]),
    ),
  })),
  SchedulesSilent: {
    severity: 'act now',
    text: `For an hour, one of these functions was not started, although its schedule starts it every 15 minutes or more often: ${listed(polling)}.`,
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

const responsibles = [...new Set(failureKindNames.map((kind) => failureKinds[kind].responsible))];

const kindsOf = (of: (typeof failureKinds)[FailureKind]['responsible']): FailureKind[] =>
  failureKindNames.filter((kind) => failureKinds[kind].responsible === of);

/** What one learner lacks must not hide what the service lacks. */
const learnersKind = 'missing-credential';

/** The kinds whose new causes one alarm reports. What the schedule replays needs nobody unless it stays; then LettersAny fires. */
export const kindsByAlarm = {
  LettersProducer: kindsOf('producer'),
  LettersAccess: kindsOf('access').filter((kind) => kind !== learnersKind),
  LettersLearner: [learnersKind],
  LettersPlatform: kindsOf('platform'),
  LettersOperator: [...kindsOf('operator'), ...otherLetterKindNames],
} satisfies Record<string, LetterKind[]>;

/** A cause is reported once, with its first letter, so that later letters of it do not hide the next cause. */
const aboutLetters = ({ metric, queueMetric }: StageMetrics): Alarms => {
  const newCauses = (id: keyof typeof kindsByAlarm) =>
    countedAnew(kindsByAlarm[id].map((kind) => metric('NewCauses', { kind })));
  const command = 'letters groups';
  return {
    LettersProducer: {
      severity: 'today',
      text: 'Messages were parked for a new cause that the student information system must correct.',
      command,
      see: 'there-are-many-letters',
      ...newCauses('LettersProducer'),
    },
    LettersAccess: {
      severity: 'act now',
      text: 'Messages were parked because the service lacks a scope or a permission. Others of their kind will follow.',
      command,
      see: 'letters-of-each-kind',
      ...newCauses('LettersAccess'),
    },
    LettersLearner: {
      severity: 'today',
      text: 'Messages were parked because a learner has no credential. Messages of other learners continue.',
      command,
      see: 'letters-of-each-kind',
      ...newCauses('LettersLearner'),
    },
    LettersPlatform: {
      severity: 'today',
      text: 'Messages were parked for a new cause: sis-relay does not understand the platform’s answers.',
      command,
      see: 'letters-of-each-kind',
      ...newCauses('LettersPlatform'),
    },
    LettersOperator: {
      severity: 'today',
      text: 'Messages were parked for a new cause: you must decide on them, a function died on them, or sis-relay has a bug.',
      command,
      see: 'there-are-many-letters',
      ...newCauses('LettersOperator'),
    },
    LettersMany: {
      severity: 'act now',
      text: 'More than 500 messages were parked within an hour.',
      command,
      see: 'there-are-many-letters',
      ...sumOver(
        500,
        responsibles.map((responsible) => metric('Letters', { responsible })),
      ),
    },
    // A wait that nobody ends is reported each morning.
    LettersUndecided: {
      severity: 'today',
      text: 'For more than a day, letters have waited for a person to decide whether they are sent again. `status` has the first step: look uncertain letters up, compare outdated ones.',
      see: 'was-the-change-made-uncertain',
      ...countedAnew([metric('Decisions', { what: 'letters' })]),
    },
    // The schedule replays such a letter three times, and a page in front of the platform for a moment heals by itself.
    LettersIntercepted: {
      severity: 'act now',
      text: 'Again and again, something in front of the platform has answered in its place, and messages were parked.',
      command,
      see: 'letters-of-each-kind',
      ...counted([metric('Letters', { kind: 'intercepted' })]),
      DatapointsToAlarm: 3,
      EvaluationPeriods: 12,
    },
    // Also those that SQS itself moved, of which nobody else knows. The schedule replays every 15 minutes what heals by itself; while it
    // reads the queue, SQS shows no letter.
    LettersAny: {
      severity: 'today',
      text: 'For most of an hour, there have been dead letters.',
      command,
      see: 'there-are-many-letters',
      ...highestOver(0, [queueMetric('ApproximateNumberOfMessagesVisible', 'dead-letters')]),
      DatapointsToAlarm: 8,
      EvaluationPeriods: 13,
    },
  };
};

const aboutQueues = ({ queued }: FunctionNames, { metric, queueMetric }: StageMetrics): Alarms => ({
  ...inGroups('QueueOldest', queued, (group) => ({
    severity: 'act now',
    text: `A message has been on its queue for half an hour, because one of these functions does not keep up or does not run: ${listed(group)}. Messages that wait for another try do not count.`,
    see: 'messages-wait',
    isPart: true,
    ...highestOver(
      1800,
      group.map((name) => queueMetric('ApproximateAgeOfOldestMessage', name)),
    ),
  })),
  // A short outage heals by itself. A message is tried again after 5, 10, 20 seconds and so on: in at least three of five periods.
  ...inGroups('PartAway', queued, (group) => ({
    severity: 'act now',
    text: `For most of 25 minutes, a part of the platform or of AWS has not answered one of these functions: ${listed(group)}.`,
    see: 'a-part-of-the-platform-or-of-aws-does-not-answer',
    isPart: true,
    ...highestOver(
      0,
      group.map((name) => metric('BatchesUnanswered', { function: name })),
    ),
    DatapointsToAlarm: 3,
    EvaluationPeriods: 5,
  })),
  // An unknown id is given three hours, after which it is no longer waiting. No message waits for an hour between two attempts.
  WaitingTooLong: {
    severity: 'act now',
    text: 'A message has been waiting for four hours. After a day it becomes a dead letter.',
    see: 'messages-wait',
    isPart: true,
    ...highestOver(14_400, [metric('WaitingAge', {})]),
    EvaluationPeriods: 12,
  },
  // A message that waits is in flight until its next try. At 120,000 SQS hands out none of the others, and says so to nobody.
  ...inGroups('InFlight', queued, (group) => ({
    severity: 'act now',
    text: `More than 60,000 messages of one of these functions wait for their next try: ${listed(group)}. From 80,000 on, more of them become letters: at 120,000, SQS hands out no others.`,
    command: 'waiting',
    see: 'too-many-messages-wait-in-one-queue',
    ...highestOver(
      60_000,
      group.map((name) => queueMetric('ApproximateNumberOfMessagesNotVisible', name)),
    ),
  })),
});

/**
 * One for each thing that is expected: a second one that is missing must not hide behind the first.
 *
 * @param receivers Options that receive files.
 * @throws Error naming what is not deployed: its alarm would never end.
 */
export const expectationAlarms = (
  expected: string,
  { metric }: StageMetrics,
  names: { queued: readonly string[]; receivers: readonly string[] },
): Alarms => {
  const known = [...names.queued, ...names.receivers.map((name) => `${name}/…`)];
  return Object.fromEntries(
    expectedSchema.parse(expected).map(({ name, hours }) => {
      if (!known.includes(name.replace(/\/.+/, '/…')))
        throw new Error(`expected: ${unknownName('deployed integration or export', name, known)}`);
      return [
        `NothingArrives${name.replaceAll(/[^A-Za-z0-9]/g, '')}`,
        {
          severity: 'act now',
          text: `Nothing has come for \`${name}\` within ${hours} expected hours. Ask the people who run the student information system.`,
          see: 'nothing-arrives',
          // It is written every 15 minutes.
          ...highestOver(0, [metric('ArrivalsOverdue', { expected: name })]),
          EvaluationPeriods: 5,
        },
      ];
    }),
  );
};

const partsOf = (alarms: Alarms, isOfThem: (id: string) => boolean): string[] =>
  Object.keys(alarms).filter((id) => alarms[id]?.isPart && isOfThem(id));
const isAway = (id: string): boolean => id.startsWith('PartAway');

/**
 * That messages wait says nothing new where all of them wait, and another alarm says why. What holds up some of them must not hide that
 * others wait for another reason.
 */
export const compositeAlarms = (alarms: Alarms): Record<string, CompositeAlarm> => ({
  Waiting: {
    severity: 'act now',
    text: 'Messages wait, or stay on their queue and are not handled. This alarm sends no mail while `ConnectionFails` or `ServiceRefused` reports why all messages wait.',
    see: 'messages-wait',
    anyOf: partsOf(alarms, (id) => !isAway(id)),
    ActionsSuppressor: 'Outage',
  },
  PartAway: {
    severity: 'act now',
    text: 'For most of 25 minutes, a part of the platform or of AWS has not answered. Messages that need this part wait. All others continue.',
    see: 'a-part-of-the-platform-or-of-aws-does-not-answer',
    anyOf: partsOf(alarms, isAway),
    ActionsSuppressor: 'Outage',
  },
  Outage: {
    severity: 'act now',
    text: 'Another alarm already reports why all messages wait. This one suppresses `Waiting` and `PartAway`, and sends no mail.',
    see: 'messages-wait',
    anyOf: ['ConnectionFails', 'ServiceRefused'],
  },
});
