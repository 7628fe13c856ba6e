import { outdatedAfterDays } from '../ledger/memory.ts';
import type { Awaited, Told } from '../publish/outcomes.ts';
import type { Published } from '../publish/publish.ts';
import { plain } from '../redaction/printable.ts';
import { countOf, numberOf } from './amounts.ts';
import { type Note, noteIf } from './view.ts';

/** That messages are too old is the warning among them. */
export const publishedNotes = ({ valid, invalid, skipped, sent, functions, outdated }: Published): Note[] => {
  const each = Object.entries(functions).map(([of, count]) => `${numberOf(count)} for ${of}`);
  return [
    ...noteIf(
      outdated > 0,
      'warn',
      `${countOf(outdated, 'message is', 'messages are')} older than ${outdatedAfterDays} days. Such a message is parked as outdated if the ledger does not know its resource.`,
    ),
    ...noteIf(
      skipped > 0,
      'plain',
      `${countOf(skipped, 'row makes', 'rows make')} no message, according to the mapping.`,
    ),
    {
      tone: 'plain',
      text: `${countOf(valid, 'valid message')}${each.length > 0 ? ` (${each.join(', ')})` : ''}, ${invalid} not valid; ${sent} sent.`,
    },
  ];
};

/** `3 done, 1 waiting.` */
export const outcomesText = (outcomes: Awaited['outcomes']): string => {
  const counts = Object.entries(outcomes).flatMap(([outcome, count]) =>
    count > 0 ? `${numberOf(count)} ${outcome}` : [],
  );
  return `${counts.join(', ')}.`;
};

/** What became of one message, where it is not done. */
export const endText = ({ line, function: name, eventId, outcome, kind, error }: Told): string =>
  `line ${line}: ${name} ${plain(eventId)}: ${[outcome, kind, plain(error ?? '')].filter(Boolean).join(': ')}`;
