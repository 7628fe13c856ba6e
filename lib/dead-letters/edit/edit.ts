import { type Audit, archive } from '../../deployment/audit.ts';
import { RefusedError } from '../../deployment/command-errors.ts';
import { integrationNamed } from '../../deployment/integrations.ts';
import type { Target } from '../../deployment/target.ts';
import { failureOf, needsDecision } from '../../failure.ts';
import type { Integration } from '../../integration.ts';
import { parseMessage } from '../../message.ts';
import { findLetter } from '../reading/find.ts';
import { editedAttribute, type Letter } from '../reading/letter.ts';
import { letterLine } from '../reading/letter-line.ts';
import { type ReadOptions, type Session, withSession } from '../reading/session.ts';
import { watchFailures } from '../replay/failure-watch.ts';
import { undecidedAfterWait } from '../replay/outcome.ts';
import { sendAndDelete } from '../replay/send-and-delete.ts';
import { type Difference, differences } from './change.ts';

export type EditOptions = ReadOptions & {
  id: string;
  audit: Audit;
  reason: string;
  /** Also a letter that a person must decide on. */
  includeUncertain: boolean;
  /** Shows the difference with what is personal in it. */
  reveal: boolean;
  /** Whoever changes the message sees it whole. */
  isOpened: boolean;
  /** How long the outcome is waited for. */
  waitSeconds: number;
  /** The new body. It is called again, with what is wrong, until its answer is valid; it throws to give up. */
  change(body: string, problem: string | undefined): Promise<string>;
  confirm(difference: Difference[]): Promise<boolean>;
};

export type Edited = {
  id: string;
  difference: Difference[];
  /** `declined`: nothing was changed; `unknown`: in time it neither came back nor is known to have gone through. */
  ended: 'declined' | 'through' | 'came back' | 'unknown';
  /** Where the original is kept. */
  original?: string | undefined;
  /** Why it came back. */
  cameBackAs?: Letter | undefined;
};

/** Sends a letter's corrected message to its queue; the original is archived, and an attribute names its place. */
export const editLetter = (target: Target, options: EditOptions): Promise<Edited> =>
  withSession(target, async (session) => {
    const letter = await findLetter(session, options);
    // The ledger trusts that whoever sends it again has looked at the platform.
    if (needsDecision(letter.failure?.kind) && !options.includeUncertain)
      throw new RefusedError(letter.failure?.kind === 'outdated' ? maybeOlder : maybeDone);
    // An editor may stay open for long: meanwhile others may work on the other letters.
    await session.lease.giveBack([letter.id]);
    return editWith(session, { ...options, letter });
  });

const maybeDone =
  'Nobody knows whether this was done, and doing it twice does harm. Check on the platform: discard it if it was done; --include-uncertain sends it if it was not.';
const maybeOlder =
  'Something newer may have been done since this message. Check on the platform: discard it if something newer is there; --include-uncertain sends it if not.';

const editWith = async (
  session: Session,
  { letter, ...options }: EditOptions & { letter: Letter },
): Promise<Edited> => {
  const { audit, reason, signal, waitSeconds } = options;
  const { target } = session;
  const { id } = letter;
  const revealed: Record<string, number> = options.reveal || options.isOpened ? { revealed: 1 } : {};
  const { end } = await audit.begin({ command: 'letters edit', letters: [id], reason, counts: revealed });
  let sent = 0;
  try {
    const body = await validBody(letter, options);
    const difference = differences(letter.body, body, options);
    if (difference.length === 0)
      throw new RefusedError('Nothing was changed, so nothing was sent: `letters replay` does that.');
    if (!(await options.confirm(difference))) return { id, difference, ended: 'declined' };

    const at = new Date().toISOString();
    const original = await archive(
      target,
      `edited/${at.slice(0, 10)}/${id}-${at.slice(11, 19).replaceAll(':', '')}.jsonl`,
      letterLine(letter),
    );
    const editing = JSON.stringify({ by: target.who, at, why: reason, original });
    const edited: Letter = {
      ...letter,
      body,
      attributes: {
        [editedAttribute]: { DataType: 'String', StringValue: editing },
        ...withoutEditing(letter),
      },
    };
    const watch = watchFailures(session);
    try {
      watch.expect([edited]);
      const outcome = await sendAndDelete(session, [edited]);
      sent = outcome.sent.length;
      if (sent === 0)
        throw new RefusedError(`It could not be sent: ${outcome.failed.get(id)}. The letter is as it was.`);
      const undecided = await undecidedAfterWait([edited], { session, watch, signal, waitSeconds });
      const cameBackAs = watch.cameBack.get(id);
      return {
        id,
        difference,
        original,
        ended: cameBackAs ? 'came back' : undecided > 0 ? 'unknown' : 'through',
        cameBackAs,
      };
    } finally {
      await watch.stop();
    }
  } finally {
    await end({ sent, ...revealed });
  }
};

const withoutEditing = ({ attributes }: Letter) =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => name !== editedAttribute));

/** Asks for a new body until its function would accept it. */
const validBody = async (letter: Letter, { change }: EditOptions): Promise<string> => {
  if (letter.missing !== undefined)
    throw new RefusedError(`There is nothing to edit, as ${letter.error}. ${letter.remedy}`);
  const integration = await integrationNamed(letter.function);
  if (letter.queueUrl === undefined || integration === undefined)
    throw new RefusedError(
      'This letter is of no function that is known here: it can be exported or discarded only.',
    );
  let body = letter.body;
  let problem: string | undefined;
  do {
    body = await change(body, problem);
    problem = problemWith(body, integration);
  } while (problem !== undefined);
  return body;
};

const problemWith = (body: string, integration: Integration<unknown>): string | undefined => {
  try {
    parseMessage(body, integration, Date.now());
    return undefined;
  } catch (error) {
    return failureOf(error).message;
  }
};
