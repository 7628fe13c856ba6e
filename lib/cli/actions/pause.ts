import { integrationNames } from '../../deployment/function-names.ts';
import { type PauseChange, pauseFunctions, resumeFunctions } from '../../deployment/pause.ts';
import { pauseText } from '../../views/status.ts';
import { text } from '../../views/view.ts';
import type { CommandContext } from '../command-context.ts';

type Verb = 'pause' | 'resume';

const actOf =
  (verb: Verb) =>
  async (context: CommandContext, functions: string[], { reason }: { reason?: string }): Promise<void> => {
    const { target, audit, signal, print, withProgress, finish } = context;
    const known = integrationNames();
    const work = verb === 'pause' ? pauseFunctions : resumeFunctions;
    const changes = await withProgress('Asking AWS', () =>
      work(target, { functions, known, reason, audit, signal }),
    );
    print({ functions: changes }, () =>
      [...changes.map((each) => textOf(each, verb)), ...remarks(changes, verb)].map((each) => text(each)),
    );
    finish(changes.every(({ done }) => done));
  };

export const pause = actOf('pause');
export const resume = actOf('resume');

const textOf = (change: PauseChange, verb: Verb): string => {
  const { function: name, was, state, done, who } = change;
  if (!done)
    return `${name}: its event-source mapping was ${was} and is ${state}. AWS has not finished the change. \`sis-relay status\` shows when it has.`;
  const told = who === undefined ? '' : ` ${pauseText(change)}`;
  if (verb === 'pause')
    return was === state
      ? `${name} was paused already (${state})${told}`
      : `${name} is paused: its event-source mapping was ${was} and is ${state}.`;
  const ended = who === undefined ? '' : ` It was paused${told}`;
  return was === state
    ? `${name} is not paused (${state}).${ended}`
    : `${name} receives messages again: its event-source mapping was ${was} and is ${state}.${ended}`;
};

const remarks = (changes: PauseChange[], verb: Verb): string[] =>
  verb === 'resume'
    ? []
    : [
        'New messages stay on the queue. SQS deletes a message 14 days after it was sent. Messages in flight are still handled. Replays, edits and `publish` still put messages on the queue.',
        `An alarm goes off after a day. To resume: sis-relay resume ${changes.map((each) => each.function).join(' ')}`,
      ];
