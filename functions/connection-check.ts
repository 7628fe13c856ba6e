import type { Context } from 'aws-lambda';
import { type ConnectionReport, checkConnection, connectionOperations } from '../lib/connection/check.ts';
import { connectionOf } from '../lib/connection/connection.ts';
import { metricLinesOf } from '../lib/connection/metrics.ts';
import { targetFrom } from '../lib/deployment/target.ts';

/** What it may call of the platform, and so the scopes that it needs. */
export const operations = connectionOperations;

/**
 * On schedule, and whenever somebody asks: can messages get through? Its metrics page a person before messages suffer.
 * The connection is made anew each time, as a function that just went cold would make it.
 */
export const handler = async (_event?: unknown, context?: Context): Promise<ConnectionReport> => {
  const target = targetFrom({});
  const connection = await connectionOf(target);
  if (connection === undefined) throw new Error('PLATFORM_URL is missing');
  try {
    const report = await checkConnection(connection);
    const level = report.problems.length > 0 ? 'ERROR' : 'INFO';
    const facts = { level, timestamp: new Date().toISOString(), function: 'connection-check' };
    const invocationId = context?.awsRequestId;
    const message = level === 'INFO' ? 'the connection is well' : 'the connection has problems';
    const metrics = metricLinesOf(report, target.metricNamespace);
    process.stdout.write(
      `${[JSON.stringify({ ...facts, invocationId, message, ...report }), ...metrics].join('\n')}\n`,
    );
    return report;
  } finally {
    await connection.client.close();
  }
};
