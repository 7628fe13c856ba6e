import { Metrics } from '@aws-lambda-powertools/metrics';
import type { ConnectionReport } from './connection-check.ts';

/** What alarms may ask for: each under the dimension `function` = `connection-check`. A value that is not known is not sent. */
export const connectionMetrics = {
  /** 1 or 0. */
  PlatformReachable: 'None',
  /** 1 or 0. */
  CredentialAccepted: 'None',
  /** How far apart the clocks are, whichever is ahead. */
  ClockSkew: 'Seconds',
  /** 1 if the platform has every version that is configured, else 0. */
  VersionsSupported: 'None',
  /** Days until a person must authorise again. */
  AuthorisationDays: 'Count',
} as const;

/** The report as one line of CloudWatch's embedded metric format. */
export const metricLineOf = (report: ConnectionReport, namespace: string): string => {
  const known = report.versions.flatMap(({ supported }) => supported ?? []);
  const values: Record<keyof typeof connectionMetrics, number | undefined> = {
    PlatformReachable: Number(report.reachable),
    CredentialAccepted:
      report.credentialAccepted === undefined ? undefined : Number(report.credentialAccepted),
    ClockSkew: report.clockSkewSeconds === undefined ? undefined : Math.abs(report.clockSkewSeconds),
    VersionsSupported: known.length === 0 ? undefined : Number(known.every(Boolean)),
    AuthorisationDays: report.authorisationDays,
  };
  const quiet = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };
  const metrics = new Metrics({ namespace, logger: quiet });
  metrics.clearDefaultDimensions();
  metrics.addDimension('function', 'connection-check');
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) metrics.addMetric(name, connectionMetrics[name as keyof typeof values], value);
  return JSON.stringify(metrics.serializeMetrics());
};
