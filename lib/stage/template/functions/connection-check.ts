import { reachKey } from '../../../runtime/telemetry/platform-reach.ts';
import { connectionSettings } from '../../connection/connection-settings.ts';
import { counted, under } from '../alarms.ts';
import { leadingKeys, ledgerArn } from '../stage-arns.ts';
import type { FunctionParts } from './function-parts.ts';

export const connectionCheck: FunctionParts = {
  function: 'connection-check',
  settings: connectionSettings,
  rights: () => [
    {
      Action: ['dynamodb:GetItem'],
      Resource: ledgerArn,
      Condition: leadingKeys('incident/service-credential'),
    },
    // What it saw last, for people whose machines reach the platform by another way.
    {
      Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
      Resource: ledgerArn,
      Condition: leadingKeys(reachKey),
    },
  ],
  alarms: ({ metric }) => ({
    // An alarm sends mail when it goes off, not while it stays on, and a learner's refused credential can keep one on for weeks. So the service's
    // own credential has its own alarm.
    ServiceRefused: {
      severity: 'act now',
      text: 'The platform refuses sis-relay’s own credential, or sis-relay cannot read that credential. `status` names the secret and who must act. All messages wait, for up to a day.',
      see: 'letters-of-each-kind',
      ...counted([metric('Refusals', { function: 'connection-check', kind: 'credentials' })]),
    },
    // An alarm begins without data and reports only changes of its state, so silence is reported only after the first check. It is the
    // one schedule whose silence no other alarm reports. CloudWatch looks for data further back than the alarm's period.
    ConnectionFails: {
      severity: 'act now',
      text: 'For 10 minutes, `connection-check` has not reached the platform, or it has not run at all. `status` shows what fails. Messages wait.',
      see: 'the-platform-does-not-answer',
      ...metric('PlatformReachable', { function: 'connection-check' }),
      Statistic: 'Maximum',
      Period: 600,
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 1,
      EvaluationPeriods: 1,
      TreatMissingData: 'missing',
    },
    VersionFails: {
      severity: 'act now',
      text: 'The platform no longer lists a version that sis-relay is configured to use. The log of `connection-check` names it.',
      see: 'the-platform-does-not-answer',
      ...under(1, metric('VersionsSupported', { function: 'connection-check' })),
    },
    AuthorizationEnds: {
      severity: 'this week',
      text: 'A person must authorize sis-relay again within a week. `status` shows by when.',
      see: 'a-person-must-authorize-again',
      ...under(7, metric('AuthorizationDays', { function: 'connection-check' })),
    },
  }),
};
