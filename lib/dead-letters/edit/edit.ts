import { type Audit, archive } from '../../deployment/audit.ts';
import { RefusedError } from '../../deployment/command-errors.ts';
import { integrationNamed } from '../../deployment/integrations.ts';
import type { Target } from '../../deployment/target.ts';
import { failureOf, needsDecision } from '../../failure.ts';
import type { Integration } from '../../integration.ts';
import { parseMessage } from '../../message.ts';
import { findLetter } from '../reading/find.ts';
import type { Letter } from '../reading/letter.ts';
import { lineOf } from '../reading/letter-line.ts';
import { type Desk, openDesk, type VisitOptions } from '../reading/session.ts';
import { watchReturns } from '../replay/failure-watch.ts';
import { outcomeOf } from '../replay/outcome.ts';
import { sendBack } from '../replay/send-and-delete.ts';
import { type Difference, differences } from './change.ts';

export type EditOptions = VisitOptions & {
  id: string;
  audit: Audit;
  reason: string;
  /** Also a letter that a person must decide on. */
  includeUncertain: boolean;
  /** Shows the difference with what is personal in it. */
  reveal: boolean;
  /** Whether the message is shown whole to whoever changes it. */
  isOpened: boolean;
  /** How long the outcome is waited for. */
  waitSeconds: number;
  /** The new body. It is asked again, and told what is wrong, until its answer is valid; it throws to give up. */
  change(body: string, problem: string | undefined): Promise<string>;
  confirm(difference: Difference[], letter: Letter): Promise<boolean>;
};

export type Edited = {
  id: string;
  difference: Difference[];
  /** `declined`: nothing was changed; `unknown`: neither did it come back in time, nor is it known to have gone through. */
  ended: 'declined' | 'through' | 'came back' | 'unknown';
  /** Where the original is kept. */
  original?: string | undefined;
  /** Why it came back. */
  cameBackAs?: Letter | undefined;
};

/** The attribute that says who edited a message, when and why, and where its original is. */
export const editedAttribute = 'edited';

/** Corrects a letter's message and sends it back to its queue; its original is kept, and named beside the new message. */
export const editLetter = async (target: Target, options: EditOptions): Promise<Edited> => {
  const desk = await openDesk(target);
  try {
    const letter = await findLetter(desk, target, options);
    // Whoever sends it again has looked what the platform holds, and the ledger believes it.
    if (needsDecision(letter.failure?.kind) && !options.includeUncertain)
      throw new RefusedError(letter.failure?.kind === 'outdated' ? maybeOlder : maybeDone);
    // An editor may stay open for long, and the others are nobody's hostages.
    await desk.hold.giveBack([letter.id]);
    return await editWith(desk, target, { ...options, letter });
  } finally {
    await desk.close();
  }
};

const maybeDone =
  'Nobody knows whether this was done, and done twice it does harm. Look on the platform: discard it if it was done; --include-uncertain sends it if it was not.';
const maybeOlder =
  'Something newer may have been done since this was said. Look on the platform: discard it if something newer is there; --include-uncertain sends it if not.';

const editWith = async (
  desk: Desk,
  target: Target,
  { letter, ...options }: EditOptions & { letter: Letter },
): Promise<Edited> => {
  const { audit, reason, signal, waitSeconds } = options;
  const { id } = letter;
  const revealed: Record<string, number> = options.reveal || options.isOpened ? { revealed: 1 } : {};
  const { end } = await audit.begin({ command: 'letters edit', letters: [id], reason, counts: revealed });
  let sent = 0;
  try {
    const body = await validBody(letter, options);
    const difference = differences(letter.body, body, options);
    if (difference.length === 0)
      throw new RefusedError('Nothing was changed, so nothing was sent: `letters replay` does that.');
    if (!(await options.confirm(difference, letter))) return { id, difference, ended: 'declined' };

    const at = new Date().toISOString();
    const original = await archive(
      target,
      `edited/${at.slice(0, 10)}/${id}-${at.slice(11, 19).replaceAll(':', '')}.jsonl`,
      lineOf(letter),
    );
    const story = JSON.stringify({ by: target.who, at, why: reason, original });
    const edited: Letter = {
      ...letter,
      body,
      attributes: { [editedAttribute]: { DataType: 'String', StringValue: story }, ...withoutStory(letter) },
    };
    const returns = watchReturns(desk, target);
    try {
      returns.expect([edited]);
      const outcome = await sendBack(desk, [edited]);
      sent = outcome.sent.length;
      if (sent === 0)
        throw new RefusedError(`It could not be sent: ${outcome.failed.get(id)}. The letter is as it was.`);
      const out = await outcomeOf([edited], { desk, target, returns, signal, waitSeconds });
      const cameBackAs = returns.returned.get(id);
      return {
        id,
        difference,
        original,
        ended: cameBackAs ? 'came back' : out > 0 ? 'unknown' : 'through',
        cameBackAs,
      };
    } finally {
      await returns.stop();
    }
  } finally {
    await end({ sent, ...revealed });
  }
};

const withoutStory = ({ attributes }: Letter) =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => name !== editedAttribute));

/** Changes the body until its function would take it. */
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
