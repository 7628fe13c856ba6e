import { createTally } from '../metrics.ts';
import type { ConnectionReport } from './connection-check.ts';

/** The report as lines of CloudWatch's embedded metric format, without what is not known. */
export const metricLinesOf = (report: ConnectionReport, namespace: string): string[] => {
  const known = report.versions.flatMap(({ supported }) => supported ?? []);
  const { reachable, credentialAccepted, clockSkewSeconds, authorisationDays } = report;
  const values = {
    PlatformReachable: Number(reachable),
    CredentialAccepted: credentialAccepted === undefined ? undefined : Number(credentialAccepted),
    ClockSkew: clockSkewSeconds === undefined ? undefined : Math.abs(clockSkewSeconds),
    VersionsSupported: known.length === 0 ? undefined : Number(known.every(Boolean)),
    AuthorisationDays: authorisationDays,
  };
  const tally = createTally(namespace);
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) tally.add(name as keyof typeof values, { function: 'connection-check' }, value);
  return tally.take();
};
