import type { Integration } from '../../../delivery/handle/integration.ts';
import { createLedgerReader } from '../../../delivery/ledger/read.ts';
import type { LetterRecord } from '../../../delivery/letters/record.ts';
import { needsDecision, undecidedKinds } from '../../../message/failure-kinds.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import { createFiles } from '../../../runtime/files/files.ts';
import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import { checkConnection } from '../../../stage/connection/check.ts';
import { type Connection, withConnection } from '../../../stage/connection/connection.ts';
import { integrationNamed } from '../../../stage/integrations.ts';
import type { Target } from '../../../stage/target.ts';
import type { Filter } from '../letters/filter.ts';
import { goneBecause, withLetters } from '../letters/leased-letters.ts';
import { type SelectedLetter, selectLetters } from '../letters/list.ts';
import type { ReadOptions } from '../letters/session.ts';
import { checkEffect, type EffectCheck, type UncertainLetter, whyNotLookedUp } from './effect-check.ts';

export type VerifiedLetter = Pick<
  LetterRecord,
  'function' | 'user' | 'orgUnit' | 'thing' | 'named' | 'eventId'
> &
  EffectCheck & { id: string };

export type VerifyResult = {
  /** Oldest first. */
  letters: VerifiedLetter[];
  found: number;
  absent: number;
  unclear: number;
};

type VerifyOptions = ReadOptions & {
  filter: Filter;
  limit?: number | undefined;
  onLooked?(looked: number, of: number): void;
};

/**
 * Looks on the platform for the intended effects of uncertain letters, each as its function would. Changes nothing, and leases no letter
 * while it looks.
 */
export const verifyLetters = async (
  target: Target,
  { filter, limit, ...options }: VerifyOptions,
): Promise<VerifyResult> => {
  const { signal } = options;
  const selection = await selectLetters(target, { filter: decidable(filter), limit }, signal);
  const looks = new Map<SelectedLetter, EffectCheck>();
  const toLook = new Map<SelectedLetter, Integration<unknown>>();
  for (const letter of selection.letters) {
    const integration = await integrationNamed(letter.record.function);
    const why = whyNotLookedUp(letter.record, integration);
    if (why === undefined && integration) toLook.set(letter, integration);
    else looks.set(letter, { found: 'unclear', why: why ?? '' });
  }
  if (toLook.size > 0) {
    const connected = await withConnection(target, async (connection) => {
      await mustAnswer(connection);
      const doubts = await readUncertainLetters(target, { ...options, letters: [...toLook.keys()] });
      for (const [letter, look] of await lookAtAll(doubts, toLook, { target, connection, ...options }))
        looks.set(letter, look);
      return true;
    });
    if (!connected)
      throw new RefusedError('Nothing was looked up, because the platform is not known. Set PLATFORM_URL.');
  }
  const letters = selection.letters.map((letter): VerifiedLetter => {
    const { function: name, user, orgUnit, thing, named, eventId } = letter.record;
    const look = looks.get(letter) ?? { found: 'unclear', why: 'it was interrupted' };
    return { id: letter.id, function: name, user, orgUnit, thing, named, eventId, ...look };
  });
  const count = (wanted: EffectCheck['found']) => letters.filter(({ found }) => found === wanted).length;
  return { letters, found: count('found'), absent: count('absent'), unclear: count('unclear') };
};

/** Only letters that a person decides on: `uncertain` by default; if letters or a cause are named, also `outdated`. */
export const decidable = (filter: Filter): Filter => {
  if (filter.kind?.some((kind) => !needsDecision(kind)))
    throw new UsageError(
      'Only letters that are uncertain or outdated can be verified: of the others, the outcome is known.',
    );
  const isNamed = filter.id !== undefined || filter.cause !== undefined;
  return { ...filter, kind: filter.kind ?? (isNamed ? [...undecidedKinds] : ['uncertain']) };
};

/** @throws RefusedError if the platform is down: every look would only report the same. */
const mustAnswer = async (connection: Connection): Promise<void> => {
  const { reachable, platform, problems } = await checkConnection(connection);
  if (!reachable)
    throw new RefusedError(
      `${platform} does not answer, so nothing was looked up. ${problems[0]?.remedy ?? ''}`.trim(),
    );
};

type UncertainLettersRead = {
  doubts: Map<SelectedLetter, UncertainLetter>;
  gone: Map<SelectedLetter, EffectCheck>;
};

const readUncertainLetters = async (
  target: Target,
  options: ReadOptions & { letters: SelectedLetter[] },
): Promise<UncertainLettersRead> =>
  withLetters(target, options, async (inHand) => {
    const doubts: UncertainLettersRead['doubts'] = new Map();
    for (const letter of inHand.letters) {
      const { body, failure, attributes } = await inHand.read(letter);
      doubts.set(letter, { body, failure, attributes, record: letter.record });
    }
    const look = { found: 'unclear', why: goneBecause(inHand.held) } as const;
    return { doubts, gone: new Map(inHand.gone.map((letter) => [letter, look])) };
  });

/** If the platform leaves this many looks in a row unanswered, no more follow. */
const maxUnanswered = 5;

const lookAtAll = async (
  { doubts, gone }: UncertainLettersRead,
  integrations: ReadonlyMap<SelectedLetter, Integration<unknown>>,
  {
    target,
    connection,
    signal,
    onLooked,
  }: Omit<VerifyOptions, 'filter'> & { target: Target; connection: Connection },
): Promise<Map<SelectedLetter, EffectCheck>> => {
  const looks = new Map<SelectedLetter, EffectCheck>(gone);
  const files = createFiles({ s3: target.s3, ...connection.settings.files });
  const { dynamodb, ledgerTable: table } = target;
  const readLedger =
    table === undefined ? undefined : createLedgerReader({ dynamodb, table, nowMs: Date.now });
  let unanswered = 0;
  try {
    await inParallel(doubts, async ([letter, doubt]) => {
      const integration = integrations.get(letter);
      if (integration === undefined || signal.aborted) return;
      if (unanswered >= maxUnanswered) {
        looks.set(letter, {
          found: 'unclear',
          why: 'it was not looked up, because the platform no longer answers',
        });
        return;
      }
      const { trouble, ...look } = await checkEffect(integration, doubt, {
        connection,
        files,
        readLedger,
        signal,
      });
      unanswered = trouble === 'unavailable' ? unanswered + 1 : 0;
      looks.set(letter, look);
      onLooked?.(looks.size, doubts.size + gone.size);
    });
  } finally {
    await files.close();
  }
  return looks;
};
