import { deskOf } from '../../dead-letters/reading/records.ts';
import { loadIntegrations } from '../../deployment/integrations.ts';
import { openInput } from '../../publish/input.ts';
import { type Awaited, awaitOutcomes } from '../../publish/outcomes.ts';
import { type Published, publishMessages } from '../../publish/publish.ts';
import { openMapping, type Source } from '../../publish/rows.ts';
import { plain } from '../../redaction/printable.ts';
import { numberOf } from '../../views/amounts.ts';
import { endText, outcomesText, publishedNotes } from '../../views/publish.ts';
import type { CommandContext } from '../command-context.ts';
import { problemLines } from '../print/changes.ts';
import { wrapped } from '../print/table.ts';
import type { Terminal } from '../print/terminal.ts';

export const act = async (
  { target, audit, terminal, signal, print, withProgress, finish }: CommandContext,
  file: string,
  { dryRun, bulk = false, wait, map, ...given }: Given,
): Promise<void> => {
  const integrations = await loadIntegrations();
  const mapping = map === undefined ? undefined : await openMapping(map, integrations);
  await using input = await openInput(file, terminal.stdin);
  // Before anything is sent: a deployment may have no such table.
  const desk = wait === undefined ? undefined : deskOf(target);
  const published = await withProgress('Sent', (onSent) =>
    publishMessages(target, {
      ...{ ...given, mapping, input, dryRun, bulk, receipts: desk !== undefined, integrations },
      ...{ audit, signal, onSent },
    }),
  );
  const { valid, invalid, sent, messages } = published;
  print(published, () => publishedLines(published, { dryRun }));
  if (dryRun) return finish(invalid === 0 && valid > 0);
  let isDone = sent > 0 && sent === valid;
  if (desk && wait !== undefined && messages.length > 0) {
    const { unread, ...awaited } = await awaitOutcomes(desk, messages, { waitSeconds: wait, signal });
    print(awaited, () => outcomeLines({ unread, ...awaited }, terminal));
    const { done, duplicate, superseded } = awaited.outcomes;
    isDone &&= done + duplicate + superseded === sent;
  }
  finish(isDone);
};

type Given = Omit<Source, 'input' | 'mapping'> & {
  map?: string;
  dryRun: boolean;
  validOnly: boolean;
  bulk?: boolean;
  wait?: number;
};

/** On a terminal. */
const maxShown = 20;

const publishedLines = (published: Published, { dryRun }: { dryRun: boolean }): string[] => {
  const { valid, invalid, sent, messages, problems } = published;
  return [
    ...problemLines(problems),
    ...publishedNotes(published).map(({ tone, text }) =>
      tone === 'warn' ? `${text} Pass --now to give each message the current time.` : text,
    ),
    ...messages
      .slice(0, maxShown)
      .map(({ line, function: name, eventId }) => `  line ${line}: ${name} ${plain(eventId)}`),
    ...(messages.length > maxShown
      ? [`  … and ${numberOf(messages.length - maxShown)} more: --json prints the ids of all`]
      : []),
    ...(sent === 0 && !dryRun && invalid > 0 && valid > 0
      ? [
          'Nothing was sent, because not all messages are valid. Correct the file, or pass --valid-only to send the valid ones.',
        ]
      : []),
  ];
};

const outcomeLines = (
  { messages, outcomes, unread }: Awaited,
  { width }: Pick<Terminal, 'width'>,
): string[] => {
  const notDone = messages.filter(({ outcome }) => !['done', 'duplicate', 'superseded'].includes(outcome));
  return [
    outcomesText(outcomes),
    ...notDone
      .slice(0, maxShown)
      .flatMap((each) => wrapped(endText(each), width - 2, '  ').map((text) => `  ${text}`)),
    ...(notDone.length > maxShown
      ? [`  … and ${numberOf(notDone.length - maxShown)} more: --json prints the outcome of each`]
      : []),
    ...(unread ? ['The outcomes of the others could not be read. `sis-relay status` shows more.'] : []),
  ];
};
