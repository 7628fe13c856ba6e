import type { Report } from '../../../scheduled/reconcile/record.ts';
import type { StatusPart } from '../../../show/option.ts';
import { ageOf } from '../../../show/views/amounts.ts';
import type { OptionStatus } from '../../../show/views/status.ts';
import { type LastComparison, lastComparison, runningComparison } from './read.ts';
import { lastComparisonNote } from './views/reconcile.ts';

export const status: StatusPart = async (target, signal) => {
  const [comparison, comparing] = await Promise.all([
    lastComparison(target, signal).catch(() => undefined),
    runningComparison(target, signal).catch(() => undefined),
  ]);
  return comparisonStatus(comparison, comparing);
};

/** Undefined: there is none, or it is unknown. */
export const comparisonStatus = (
  comparison: LastComparison | undefined,
  comparing: Report | undefined,
): OptionStatus => {
  const last = lastComparisonNote(comparison);
  return {
    facts: { comparison, comparing },
    first: [
      ...(last === undefined || last.tone === 'good'
        ? []
        : [{ ...last, to: '/reconcile' }, { command: 'reconcile show' }]),
      ...(comparing === undefined
        ? []
        : [
            {
              tone: 'plain' as const,
              to: '/reconcile',
              text: `The platform is being compared with what was sent, since ${ageOf(comparing.startedMs)}`,
            },
            { command: `reconcile show ${comparing.id}` },
          ]),
    ],
    sections: [],
  };
};
