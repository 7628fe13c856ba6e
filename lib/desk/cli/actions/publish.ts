import { openInput } from '../../../stage/input.ts';
import { loadIntegrations } from '../../../stage/integrations.ts';
import { letterIndexOf } from '../../messages/letters/list.ts';
import { awaitOutcomes } from '../../messages/publish/outcomes.ts';
import { type PublishResult, publishMessages } from '../../messages/publish/publish.ts';
import { openMapping, type Source } from '../../messages/publish/rows.ts';
import { problemView } from '../../views/changes.ts';
import { durationOf, numberOf } from '../../views/format.ts';
import { outcomesView, publishedNotes } from '../../views/publish.ts';
import { list, text, type View } from '../../views/view.ts';
import type { CommandContext } from '../command-context.ts';

export const publish = async (
  { target, audit, terminal, signal, print, progress, finish, checkAudit }: CommandContext,
  file: string,
  { dryRun = false, validOnly = false, bulk = false, wait, map, ...given }: PublishOptions,
): Promise<void> => {
  const integrations = await loadIntegrations();
  const mapping = map === undefined ? undefined : await openMapping(map, integrations);
  await using input = await openInput(file, terminal.stdin);
  if (!dryRun) await checkAudit();
  // Checked before anything is sent: a deployment may have no such table.
  const letterIndex = wait === undefined ? undefined : letterIndexOf(target);
  const published = await publishMessages(target, {
    ...given,
    validOnly,
    mapping,
    input,
    dryRun,
    bulk,
    receipts: letterIndex !== undefined,
    integrations,
    audit,
    signal,
    onSent: progress('Sent'),
  });
  const { valid, invalid, sent, messages } = published;
  print(published, () => publishedView(published, { dryRun }));
  if (dryRun) return finish(invalid === 0 && valid > 0);
  let isDone = sent > 0 && sent === valid;
  if (letterIndex && wait !== undefined && messages.length > 0) {
    const { unread, ...awaited } = await awaitOutcomes(letterIndex, messages, {
      waitSeconds: wait,
      signal,
      onKnown: progress(`Waiting up to ${durationOf(wait)} for outcomes:`),
    });
    print(awaited, () => outcomesView({ unread, ...awaited }));
    const { done, duplicate, superseded } = awaited.outcomes;
    isDone &&= done + duplicate + superseded === sent;
  }
  finish(isDone);
};

type PublishOptions = Omit<Source, 'input' | 'mapping'> & {
  map?: string;
  dryRun?: boolean;
  validOnly?: boolean;
  bulk?: boolean;
  wait?: number;
};

/** On a terminal. */
const maxShown = 20;

const shortened = (lines: string[], all: string): string[] =>
  lines.length <= maxShown
    ? lines
    : [...lines.slice(0, maxShown), `… and ${numberOf(lines.length - maxShown)} more: ${all}`];

const publishedView = (published: PublishResult, { dryRun }: { dryRun: boolean }): View => {
  const { valid, invalid, sent, messages, problems } = published;
  return [
    ...problemView(problems),
    ...publishedNotes(published, ' Pass --now to give each message the current time.'),
    list(
      shortened(
        messages.map(({ line, function: name, eventId }) => `line ${line}: ${name} ${eventId}`),
        '--json prints the ids of all',
      ),
    ),
    sent === 0 &&
      !dryRun &&
      invalid > 0 &&
      valid > 0 &&
      text(
        'Nothing was sent, because not all messages are valid. Correct the file, or pass --valid-only to send the valid ones.',
      ),
  ];
};
