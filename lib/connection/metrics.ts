import { createTally } from '../telemetry/metrics.ts';
import type { ConnectionReport } from './check.ts';

/** The report as lines of CloudWatch's embedded metric format, without what is not known. */
export const metricLinesOf = (report: ConnectionReport, namespace: string): string[] => {
  const known = report.versions.flatMap(({ supported }) => supported ?? []);
  const { reachable, clockSkewSeconds, authorizationDays } = report;
  const values = {
    PlatformReachable: Number(reachable),
    CredentialAccepted: acceptedIn(report),
    ClockSkew: clockSkewSeconds === undefined ? undefined : Math.abs(clockSkewSeconds),
    VersionsSupported: known.length === 0 ? undefined : Number(known.every(Boolean)),
    AuthorizationDays: authorizationDays,
  };
  const tally = createTally(namespace);
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) tally.add(name as keyof typeof values, { function: 'connection-check' }, value);
  return tally.take();
};

/** For reading and for changes; undefined where a refused credential was replaced and not tried since. */
const acceptedIn = ({ credentialAccepted, changes }: ConnectionReport): number | undefined => {
  if (credentialAccepted === false || changes?.refused === 'yes') return 0;
  const isKnown = changes === undefined || changes.refused === 'no';
  return credentialAccepted && isKnown ? 1 : undefined;
};
