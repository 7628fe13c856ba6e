import { plain } from '../../runtime/privacy/printable.ts';
import type { PauseRecord } from '../../runtime/telemetry/pauses.ts';
import { minuteOf } from '../../stage/connection/check.ts';
import { isStopped, type PauseChange, type PausedFunction } from '../../stage/pause.ts';
import { ageOf } from './format.ts';
import { type Form, type Note, type Step, stepOf, text, type View } from './view.ts';

/** If AWS cannot be asked, its record decides. */
export const isPaused = ({ state }: PausedFunction): boolean => state === undefined || isStopped(state);

export const pausedText = (paused: PausedFunction): string => {
  const { function: name, state, sinceMs, who, isFiltered } = paused;
  if (isFiltered)
    return plain(
      `The event-source mapping of ${name} has a filter: messages that do not match it are deleted unseen. Remove the filter on AWS, then have the SIS send the missing messages again.`,
    );
  const since = sinceMs === undefined ? '' : ` since ${minuteOf(new Date(sinceMs).toISOString())}`;
  const mapping = 'its event-source mapping';
  if (who === undefined)
    return plain(
      `${name} is paused (${state})${since}: ${mapping} was changed on AWS, and no reason was recorded.`,
    );
  const byWhom = pauseText(paused);
  return isPaused(paused)
    ? plain(`${name} is paused (${state ?? 'as recorded; AWS could not be asked'}) ${byWhom}`)
    : plain(
        `${name} was paused ${byWhom}; but ${mapping} is ${state}. It was changed on AWS, or the change is not finished.`,
      );
};

type PauseFacts = { [Fact in keyof PauseRecord]?: PauseRecord[Fact] | undefined };

/** `since 2026-03-01 09:12 UTC by jane: the platform is moving`. */
const pauseText = ({ sinceMs = 0, who = '', reason = '' }: PauseFacts): string =>
  plain(`since ${minuteOf(new Date(sinceMs).toISOString())} by ${who}: ${reason}`);

/** A function that gets no messages, or not all, and how it gets them again. */
export const pausedNotes = (paused: PausedFunction): readonly [Note, ...View] => [
  { tone: 'bad', text: pausedText(paused) },
  ...(paused.isFiltered
    ? []
    : [
        { lead: 'To resume', command: `resume ${paused.function}` },
        resumeForm(paused.function, `Resume ${paused.function}`),
      ]),
];

/** `grade-push is paused by mary for 2 h: course move.` */
export const pausedSentence = ({
  function: name,
  sinceMs = 0,
  who = '',
  reason = '',
}: PausedFunction): string =>
  plain(`${name} is paused by ${who} for ${ageOf(sinceMs)}: ${reason.replace(/\.$/, '')}.`);

/** What a person paused on purpose is no fault: somebody asks that person. */
export const pausedStep = (paused: PausedFunction): Step =>
  paused.who === undefined || paused.isFiltered || !isPaused(paused)
    ? stepOf(pausedNotes(paused), 'now')
    : stepOf(pausedNotes(paused), 'today', { title: `${pausedSentence(paused)} Is that over?` });

/** Beside the button that sends to them. */
export const pausedWarnings = (paused: readonly PausedFunction[] = []): View =>
  paused.filter(isPaused).map((each) => ({
    tone: 'warn',
    text: `${each.function} is paused: its letters would wait on its queue, and have no outcome until it is resumed.`,
  }));

export const resumeForm = (name: string, text: string): Form => ({
  action: '/resume',
  hidden: { function: name },
  buttons: [{ text }],
});

type DeliveryChange = 'pause' | 'resume';

export const pauseView = (changes: readonly PauseChange[], verb: DeliveryChange): View => [
  ...changes.flatMap((each) => changeView(each, verb)),
  ...(verb === 'resume'
    ? []
    : [
        text(
          'New messages stay on the queue. SQS deletes a message 14 days after it was sent. Messages in flight are still handled. Replays, edits and publishing still put messages on the queue. An alarm goes off after a day.',
        ),
        { lead: 'To resume', command: `resume ${changes.map((each) => each.function).join(' ')}` },
      ]),
];

const changeView = (change: PauseChange, verb: DeliveryChange): View => {
  const { function: name, was, state, done, who } = change;
  const mapping = `its event-source mapping was ${was} and is ${state}.`;
  if (!done)
    return [
      { tone: 'warn', text: `${name}: ${mapping} AWS has not finished the change.` },
      { lead: 'To see when it has', command: 'status' },
    ];
  const pausedBy = who === undefined ? '' : ` ${pauseText(change)}`;
  if (verb === 'pause')
    return [
      text(
        was === state ? `${name} was paused already (${state})${pausedBy}` : `${name} is paused: ${mapping}`,
      ),
    ];
  const ended = who === undefined ? '' : ` It was paused${pausedBy}`;
  return [
    text(
      was === state
        ? `${name} is not paused (${state}).${ended}`
        : `${name} receives messages again: ${mapping}${ended}`,
    ),
  ];
};
