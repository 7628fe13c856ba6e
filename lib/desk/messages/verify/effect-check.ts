import type { Integration, IntegrationContext } from '../../../delivery/handle/integration.ts';
import { fieldsOf, placeInLedger } from '../../../delivery/handle/ledger-message.ts';
import { wasDone } from '../../../delivery/handle/verify-attempt.ts';
import { type ResourceState, withCrash } from '../../../delivery/ledger/item.ts';
import { type UnresolvedAttempt, unresolvedOf } from '../../../delivery/ledger/judge.ts';
import type { ReadResource } from '../../../delivery/ledger/read.ts';
import { historyIn } from '../../../delivery/letters/history.ts';
import type { LetterRecord } from '../../../delivery/letters/record.ts';
import type { FailureKind } from '../../../message/failure-kinds.ts';
import { draftOf, type Message } from '../../../message/message.ts';
import { isSameMessage } from '../../../message/version.ts';
import { failureOf } from '../../../platform/client/failure-of.ts';
import { listGradeObjects } from '../../../platform/resources/grade-objects.ts';
import type { Files } from '../../../runtime/files/files.ts';
import type { Connection } from '../../../stage/connection/connection.ts';
import type { Letter } from '../letters/letter.ts';

/** What the platform shows of a message's intended effect. */
export type EffectCheck = { found: 'found' | 'absent' | 'unclear'; why?: string };

/** `trouble`: the failure that prevented the look. */
export type EffectCheckResult = EffectCheck & { trouble?: FailureKind };

/** What is kept of a letter after it was given back. */
export type UncertainLetter = Pick<Letter, 'body' | 'failure' | 'attributes'> & { record: LetterRecord };

export type EffectCheckParts = {
  connection: Connection;
  files: Files;
  /** Undefined: the functions have none. */
  readLedger: ReadResource | undefined;
  signal: AbortSignal;
};

/** Why the effect of such a letter cannot be looked up; undefined: it can. */
export const whyNotLookedUp = (
  { kind }: Pick<LetterRecord, 'kind'>,
  integration: Integration<unknown> | undefined,
): string | undefined => {
  if (kind === 'outdated')
    return 'compare the revealed message with what the platform shows, as that may be newer. Replay the letter only if the platform has something older or nothing. If not, discard it';
  if (integration === undefined) return 'its function is not one of this deployment';
  if (integration.verify === undefined)
    return 'looking it up does not decide this: the letter says what to do';
  if (integration.verify.look === undefined)
    return 'no call of the platform shows it: look for it on the platform yourself. The revealed message shows what to look for';
  return undefined;
};

/** Looks as the letter's function would, by what the ledger knows of the attempt. Never throws. */
export const checkEffect = async (
  integration: Integration<unknown>,
  doubt: UncertainLetter,
  parts: EffectCheckParts,
): Promise<EffectCheckResult> => {
  try {
    const message = draftOf(doubt.body, integration, Date.now()).message(doubt.failure?.ids);
    const { resource, fields, version } = placeInLedger(integration, message);
    const read = await parts.readLedger?.(resource);
    const item = read && withCrash(read);
    const states = fields.flatMap((field) => item?.fields[field] ?? []);
    if (states.some(({ done }) => done && isSameMessage(done.version, version)))
      return { found: 'found', why: 'the ledger knows that it was done' };
    const open = states
      .flatMap((state) => state.open ?? [])
      .find((each) => isSameMessage(each.version, version));
    const unresolved = item && open ? unresolvedOf(open, item) : unresolvedByLetter(doubt);
    const quietMs = quietFrom(doubt, item, parts.connection);
    // What is absent now may still appear, so the time is taken before the look.
    const isEarly = Date.now() < quietMs;
    if (await isThere({ integration, message }, unresolved, parts)) return { found: 'found' };
    return isEarly
      ? {
          found: 'unclear',
          why: `too early: the call may still act until ${new Date(quietMs).toISOString()}`,
        }
      : { found: 'absent' };
  } catch (error) {
    const { kind, message } = failureOf(error);
    return { found: 'unclear', why: message, trouble: kind };
  }
};

/** From the letter alone: anything done since the message was first received counts as its effect. */
const unresolvedByLetter = ({ failure, attributes }: UncertainLetter): UnresolvedAttempt => {
  const times = [failure?.firstAt, historyIn(attributes.history?.StringValue)?.firstAt];
  const known = times.flatMap((time) => Date.parse(time ?? '') || []);
  return {
    sinceMs: known.length === 0 ? 0 : Math.min(...known),
    acceptedUnverified: /answered with a success/.test(failure?.message ?? ''),
    decided: false,
    refusal: undefined,
    changedSince: [],
  };
};

/** The time from which nothing that was sent can still take effect. */
const quietFrom = (
  { record }: UncertainLetter,
  item: ResourceState | undefined,
  { settings }: Connection,
): number => (item === undefined ? record.atMs + settings.ledger.lateEffectMs : item.busyUntilMs);

type ParsedMessage = { integration: Integration<unknown>; message: Message<unknown> };

const isThere = (
  parsed: ParsedMessage,
  unresolved: UnresolvedAttempt,
  parts: Omit<EffectCheckParts, 'readLedger'>,
): Promise<boolean> =>
  asItsFunction(parsed, parts, (context) =>
    wasDone(parsed.integration, parsed.message.data, { context, unresolved }),
  );

/** Calls the platform as the message's function would. Nothing is written. */
export const asItsFunction = async <Result>(
  { integration, message }: ParsedMessage,
  { connection: { client, settings, readSecret }, files, signal }: Omit<EffectCheckParts, 'readLedger'>,
  look: (context: IntegrationContext) => Promise<Result>,
): Promise<Result> => {
  // Files are opened to learn their sizes, and not read.
  const abandoning = new AbortController();
  const late = AbortSignal.timeout(settings.limits.attemptTimeoutMs);
  const ending = AbortSignal.any([signal, late, abandoning.signal]);
  const platform = client.for({
    actor: integration.actor?.(message.data),
    operations: integration.operations,
    signal: ending,
    onCall: () => {},
  });
  try {
    return await look({
      platform,
      gradeObjects: (orgUnitId) => Array.fromAsync(listGradeObjects(platform, orgUnitId)),
      openFile: (uri, maximumBytes) => files.open(uri, { maximumBytes, signal: ending }),
      readSecret,
      limits: settings.limits,
      note: () => {},
      fields: fieldsOf(integration, message),
      mustBeCurrent: async () => {},
    });
  } finally {
    abandoning.abort();
  }
};
