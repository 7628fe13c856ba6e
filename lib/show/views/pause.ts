import type { PauseChange } from '../../operate/stage/pause.ts';
import { pauseText } from './status.ts';
import { type Block, text, type View } from './view.ts';

type Verb = 'pause' | 'resume';

export const pauseView = (changes: readonly PauseChange[], verb: Verb): View => [
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

const changeView = (change: PauseChange, verb: Verb): Block[] => {
  const { function: name, was, state, done, who } = change;
  const mapping = `its event-source mapping was ${was} and is ${state}.`;
  if (!done)
    return [
      { tone: 'warn', text: `${name}: ${mapping} AWS has not finished the change.` },
      { lead: 'To see when it has', command: 'status' },
    ];
  const told = who === undefined ? '' : ` ${pauseText(change)}`;
  if (verb === 'pause')
    return [
      text(was === state ? `${name} was paused already (${state})${told}` : `${name} is paused: ${mapping}`),
    ];
  const ended = who === undefined ? '' : ` It was paused${told}`;
  return [
    text(
      was === state
        ? `${name} is not paused (${state}).${ended}`
        : `${name} receives messages again: ${mapping}${ended}`,
    ),
  ];
};
