import type { Comparison } from '../../../../operate/reviews/reconcile/read.ts';
import type { Finding } from '../../../../scheduled/reconcile/record.ts';
import { claims } from '../../../views/reconcile.ts';

/** Maximum number of findings in a document. */
export const maxFindings = 100_000;

/** A script must not take an unrepaired difference for success. */
export const isFine = ({ faults, report: { state } }: Comparison): boolean =>
  faults === 0 && state !== 'failed';

export const documentOf = (comparison: Comparison): object => {
  const { report, findings, groups, counts, ...told } = comparison;
  return {
    ...{ id: report.id, state: report.state, counts, ...told },
    claims: claims(report).map(({ text }) => text),
    ...{ groups, findings: findings.map(toldFinding), report },
  };
};

const toldFinding = ({ writtenMs, ...finding }: Finding): object => ({
  ...finding,
  ...(writtenMs !== undefined && { writtenAt: new Date(writtenMs).toISOString() }),
});
