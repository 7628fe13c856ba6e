import { ageOf } from '../../../desk/views/format.ts';
import type { OptionStatus } from '../../../desk/views/status.ts';
import { stepOf } from '../../../desk/views/view.ts';
import type { StatusPart } from '../../../option.ts';
import type { Report } from '../record.ts';
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
        : [
            stepOf(
              [
                { ...last, to: '/reconcile' },
                { command: 'reconcile show' },
                { links: [{ text: 'See what differs', to: '/reconcile' }] },
              ],
              'today',
            ),
          ]),
      ...(comparing === undefined
        ? []
        : [
            stepOf(
              [
                {
                  tone: 'plain',
                  to: '/reconcile',
                  text: `The platform is being compared with what was sent, since ${ageOf(comparing.startedMs)}`,
                },
                { command: `reconcile show ${comparing.id}` },
              ],
              'note',
            ),
          ]),
    ],
    sections: [],
  };
};
