import { outdatedAfterDays } from '../../ledger/rules.ts';
import type { Published } from '../../publish/publish.ts';
import { problemLines } from './changes.ts';
import { countOf, numberOf } from './table.ts';

export const publishedLines = (
  { valid, invalid, sent, functions, problems, outdated }: Published,
  { dryRun }: { dryRun: boolean },
): string[] => {
  const each = Object.entries(functions).map(([of, count]) => `${numberOf(count)} for ${of}`);
  return [
    ...problemLines(problems),
    ...(outdated > 0
      ? [
          `${countOf(outdated, 'message is', 'messages are')} older than ${outdatedAfterDays} days, and will be parked as outdated where the ledger knows nothing of what it is about. Give --now to have each count as said now.`,
        ]
      : []),
    `${countOf(valid, 'valid message')}${each.length > 0 ? ` (${each.join(', ')})` : ''}, ${invalid} not valid; ${sent} sent.`,
    ...(sent === 0 && !dryRun && invalid > 0 && valid > 0
      ? ['Nothing is sent unless every message is valid: correct the file, or give --valid-only.']
      : []),
  ];
};
