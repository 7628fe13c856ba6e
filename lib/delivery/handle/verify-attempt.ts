import { type Failure, MessageFailure, type Refusal } from '../../message/failure.ts';
import { isRetried } from '../../message/failure-kinds.ts';
import { ownText, type SafeText, safe, storedSafeText } from '../../message/safe-text.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import type { UnresolvedAttempt } from '../ledger/judge.ts';
import type { Integration, IntegrationContext } from './integration.ts';

/** The platform may date a change by a clock that differs from ours by up to a day. */
const toleratedClockMs = 86_400_000;

/**
 * Looks on the platform whether the attempt that left no outcome was done.
 * @throws MessageFailure `uncertain` if that cannot be determined and no person has decided.
 */
export const wasDone = async <Data>(
  { verify }: Integration<Data>,
  data: Data,
  { context, unresolved }: { context: IntegrationContext; unresolved: UnresolvedAttempt },
): Promise<boolean> => {
  const { acceptedUnverified } = unresolved;
  const since = ownText(new Date(unresolved.sinceMs).toISOString());
  const subject = verify?.subject(data) ?? 'its effect';
  const { message: first, ...refusal } = readRefusal(unresolved.refusal);
  let why = safe`the platform does not show it`;
  try {
    // The effect of an accepted call may be dated earlier than our attempt, as the platform's clock may differ.
    const sinceMs = unresolved.sinceMs - (acceptedUnverified ? toleratedClockMs : 0);
    const found = (await verify?.look?.(data, { ...context, sinceMs })) ?? 'unclear';
    if (found === 'found' || (acceptedUnverified && found === 'unclear')) return true;
    const isHidden = unresolved.changedSince.some((field) => verify?.isHiddenBy?.(field));
    if (found === 'absent' && !acceptedUnverified && !isHidden) return false;
    if (acceptedUnverified && verify?.look)
      why = safe`the platform answered with a success, but does not show it`;
    else if (found === 'absent')
      why = safe`it is not there as it was sent, and may have been changed there since`;
    else if (verify?.look) why = safe`something is there that may be its effect`;
  } catch (error) {
    const failure = failureOf(error);
    if (isRetried(failure.kind)) {
      if (first === undefined) throw error;
      // After a day of looking without a result, its letter must still hold the platform's answer to the first attempt.
      const { kind, message, remedy, retryAfterSeconds } = failure;
      throw new MessageFailure(kind, safe`${message}. An attempt since ${since} left no outcome (${first})`, {
        remedy: `${remedy} Before it is sent again, ${subject} is looked up.`,
        refusal: { ...refusal, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) },
      });
    }
    why = failure.message;
  }
  if (unresolved.decided) return false;
  const said = first === undefined ? '' : safe` (${first})`;
  throw new MessageFailure('uncertain', safe`An attempt since ${since} left no outcome${said}: ${why}`, {
    remedy: `On the platform, look for ${subject} since ${since}. If there is none, replay this letter. If there is one, discard it.`,
    refusal,
  });
};

const maxRefusalBytes = 600;

/** The platform's answer, short enough for the ledger, which keeps it until a letter is written. */
export const writtenRefusal = (failure: Failure): string => {
  const { message, status, type, title, detail, required, operation, requestId } = failure;
  const texts = Object.entries({ message, type, title, required, requestId, detail });
  const cutTo = (length: number): string =>
    JSON.stringify({
      status,
      operation,
      ...Object.fromEntries(texts.map(([name, text]) => [name, text?.slice(0, length).toWellFormed()])),
    });
  // JSON may write a character in six, and UTF-8 in three.
  const fitting = [400, 300, 200, 150, 100, 60, 30]
    .map(cutTo)
    .find((text) => Buffer.byteLength(text) <= maxRefusalBytes);
  return fitting ?? cutTo(10);
};

const readRefusal = (written: string | undefined): Refusal & { message?: SafeText } => {
  if (written === undefined) return {};
  const { message, operation, ...refusal }: Written = JSON.parse(written);
  return {
    ...refusal,
    ...(operation !== undefined && { operation: storedSafeText(operation) }),
    ...(message !== undefined && { message: storedSafeText(message) }),
  };
};

type Written = Omit<Refusal, 'operation'> & { message?: string; operation?: string };
