import { expect } from 'vitest';
import { letterOf, sqsMessageOf } from '../../lib/delivery/letters/dead-letter.ts';
import { dispositions } from '../../lib/message/failure.ts';
import type { Operation } from '../../lib/platform/client/operation.ts';
import { type IntegrationStage, type Part, patternOf } from '../integration-stage.ts';
import type { PlatformState } from '../local/controls.ts';
import { type Answer, answers, halfAnswer, sortOf, wordsOf } from './answers.ts';

type Answered = {
  operation: Operation<unknown>;
  by: readonly Answer[];
  /** What the platform holds where it was done once. */
  whole: PlatformState;
};

/** A message ends as it must, whose first call of an operation is answered by each of these in turn. */
export const expectEnds = async (
  stage: IntegrationStage,
  part: Part,
  { operation, by, whole }: Answered,
): Promise<void> => {
  const ends: string[] = [];
  for (const answer of by) {
    const { title } = answer;
    await stage.reset();
    const { effect, times } = faultOf(part, operation, answer);
    const [{ method }, path] = [operation, patternOf(operation).source];
    await stage.controls().fault(effect, { method, path, times });
    const { story, letters, state } = await stage.deliver(part);
    ends.push(`${title}: ${story.join(', ')}`);
    const isDone = story.at(-1) === 'done';
    // None is done without its effect, nor with two.
    if (isDone) expect([title, state]).toEqual([title, whole]);
    expect([title, letters.length]).toEqual([title, isDone ? 0 : 1]);
    for (const letter of letters) {
      const { MessageBody: Body, MessageAttributes } = sqsMessageOf(letter);
      const { failure } = letterOf({ Body, MessageAttributes });
      expect(failure?.remedy).toMatch(/replay|discard/i);
      // Of what was looked up in vain, the letter tells the looking.
      if (failure?.kind !== 'uncertain') expect(failure).toEqual(wordsOf(answer));
      else expect(failure.remedy).toMatch(soughtOf(part));
    }
  }
  expect(ends).toEqual(by.map((answer) => `${answer.title}: ${expectedEnd(part, operation, answer)}`));
};

/** It was taken, so that whatever then becomes of the looking, it is looked for again, and found. */
const found = Object.fromEntries(
  [...answers, halfAnswer].map(({ title }) => [title, 'waiting uncertain, done']),
);
/** What the platform shows tells that it was done. */
const shown = Object.fromEntries(
  ['200 with JSON of another shape', '200 with nothing', '202 with nothing', '204'].map((title) => [
    title,
    'done',
  ]),
);
/** There is no grade yet, and so no comment. */
const absent = { '404 that says that there is no grade': 'done' };
/** There is nothing to remove, if the API says so. */
const removed = { '404 that says what is not there': 'done', ...absent };

/** Where a call is more to its message than its operation tells, by integration and call: the ends by the answers' titles. */
const exceptions: Record<string, Record<string, string>> = {
  'grade-push set-grade-value': shown,
  'grade-push read-grade-value': absent,
  'enrollment-create create-enrollment': shown,
  'enrollment-remove delete-enrollment': shown,
  'submission-upload read-my-submissions': found,
  'grade-object-create update-dropbox-folder': shown,
  'org-unit-move remove-parent': removed,
};

/** What a person is asked to look for where nothing can be read back. */
const sought: Record<string, string> = {
  'content-topic-update': "a topic with this message's title in module 8001 of org unit 2001",
  'news-item-create': "a news item with this message's title in org unit 2001",
  'user-attributes-update': "a demographics field with this message's name",
};
const soughtOf = ({ integration }: Part): RegExp =>
  new RegExp(
    `^On the platform, look for ${sought[integration.name]} since .* If there is none, replay this letter`,
  );

const exceptionOf = ({ integration }: Part, { name }: Operation<unknown>, { title }: Answer) =>
  exceptions[`${integration.name} ${name}`]?.[title];

/** What must become of a message whose call is answered so. */
const expectedEnd = (part: Part, operation: Operation<unknown>, answer: Answer): string => {
  const own = exceptionOf(part, operation, answer);
  if (own !== undefined) return own;
  const verdict = answer.is[sortOf(operation)];
  if (verdict === 'success') return 'done';
  const { verify } = part.integration;
  if (verdict === 'uncertain') return `waiting uncertain, ${verify?.look ? 'done' : 'parked uncertain'}`;
  return dispositions[verdict] === 'wait' ? `waiting ${verdict}, done` : `parked ${verdict}`;
};

/** What befalls the first such call, and how often. */
const faultOf = (part: Part, operation: Operation<unknown>, answer: Answer) => ({
  // That there is nothing to remove is true after the removal.
  effect:
    exceptions[`${part.integration.name} ${operation.name}`] === removed && answer.title in removed
      ? { ...answer.effect, when: 'after' as const }
      : answer.effect,
  // What certainly was not taken is proved again at once: not by another key of a learner, whose it is nobody has asked.
  times:
    answer.twice &&
    answer.is[sortOf(operation)] === 'credentials' &&
    (operation.repeatable || part.integration.actor === undefined)
      ? 2
      : 1,
});
