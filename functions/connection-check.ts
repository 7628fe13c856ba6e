import type { Context } from 'aws-lambda';
import { errorName } from '../lib/runtime/aws/error.ts';
import { createTally } from '../lib/runtime/telemetry/metrics.ts';
import { writeReach } from '../lib/runtime/telemetry/platform-reach.ts';
import {
  type ConnectionReport,
  checkConnection,
  connectionOperations,
} from '../lib/stage/connection/check.ts';
import { withConnection } from '../lib/stage/connection/connection.ts';
import { type Target, targetFrom } from '../lib/stage/target.ts';

/** Calls that the function may make, which determine the scopes that it needs. */
export const operations = connectionOperations;

/**
 * Runs on a schedule and on demand: checks whether messages can get through. Alarms on its metrics alert a person before messages suffer.
 * Each run opens a new connection, as a function does after a cold start.
 */
export const handler = async (_event?: unknown, context?: Context): Promise<ConnectionReport> => {
  const target = targetFrom({});
  const report = await withConnection(target, checkConnection);
  if (report === undefined) throw new Error('PLATFORM_URL is missing');
  const level = report.problems.length > 0 ? 'ERROR' : 'INFO';
  const facts = { level, timestamp: new Date().toISOString(), function: 'connection-check' };
  const invocationId = context?.awsRequestId;
  const message = level === 'INFO' ? 'the connection works' : 'the connection has problems';
  const metrics = metricLinesOf(report, target.metricNamespace);
  const unwritten = await noteReach(target, report);
  process.stdout.write(
    `${[JSON.stringify({ ...facts, invocationId, message, ...report, ...unwritten }), ...metrics].join('\n')}\n`,
  );
  return report;
};

/** A check that cannot be recorded is a check all the same. */
const noteReach = async (
  { dynamodb, ledgerTable: table }: Target,
  { reachable: isReached, problems: [problem] }: ConnectionReport,
): Promise<{ unwritten?: string }> => {
  if (table === undefined) return {};
  const { what = '', remedy = '' } = isReached ? {} : (problem ?? {});
  try {
    await writeReach({ dynamodb, table, nowMs: Date.now }, { isReached, what, remedy });
    return {};
  } catch (error) {
    return { unwritten: `what was seen could not be recorded: ${errorName(error)}` };
  }
};

/** The report as lines of CloudWatch's embedded metric format. Unknown values are omitted. */
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
  // The same metric that every function counts, so that one alarm adds up all of them.
  if (values.CredentialAccepted === 0)
    tally.add('Refusals', { function: 'connection-check', kind: 'credentials' }, 1);
  return tally.take();
};

/** For reading and for changes. Undefined if a refused credential was replaced and not tried since. */
const acceptedIn = ({ credentialAccepted, changes }: ConnectionReport): number | undefined => {
  if (credentialAccepted === false || changes?.refused === 'yes') return 0;
  const isKnown = changes === undefined || changes.refused === 'no';
  return credentialAccepted && isKnown ? 1 : undefined;
};
