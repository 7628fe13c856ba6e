import type { Fate, History, Plan, Step } from './history.ts';

const usual: Plan = {
  ...{ thing: 0, minute: 0, wrong: false, deadly: false },
  ...{ removes: false, comments: true, privateComments: true },
};
const wrong: Plan = { ...usual, wrong: true };
const deadly: Plan = { ...usual, deadly: true };
const gradeAlone: Plan = { ...usual, comments: false, privateComments: false };

const send = (message: number): Step => ({ do: 'send', message: message - 1 });
type Delivery = Partial<Pick<Step & { do: 'deliver' }, 'from' | 'count' | 'again'>>;
const deliver = (container: number, { from = 0, count = 1, again = 'never' }: Delivery = {}): Step => ({
  do: 'deliver',
  ...{ container, from, count, again },
});
const go = (fate: Fate, pick = 0): Step => ({ do: 'go on', pick, fate });
const seconds = (number: number): Step => ({ do: 'pass', seconds: number });
const minutes = (number: number): Step => seconds(60 * number + 10);
const day = seconds(90_000);
const kill = (container: number): Step => ({ do: 'kill', container });
const replay: Step = { do: 'replay', pick: 0, corrected: false };

const enrollments = (messages: Plan[], steps: Step[]): History => ({
  family: 'enrollments',
  messages,
  lookalike: false,
  seed: 0,
  steps,
});
const submissions = (steps: Step[]): History => ({
  ...enrollments([usual], steps),
  family: 'submissions',
  lookalike: true,
});

/** Histories that were found to go wrong, shrunk to what matters: with the ledger as it was then, or with one thing broken. */
export const kept: { title: string; history: History }[] = [
  {
    title: 'the death of an older message, whose part is superseded, keeps in mind what was done before',
    history: {
      ...enrollments(
        [
          { ...gradeAlone, minute: 2 },
          { ...gradeAlone, minute: 2, removes: true },
          { ...usual, privateComments: false },
        ],
        [
          send(1),
          deliver(0),
          go('well'),
          go('well'),
          go('refused'),
          send(1),
          send(3),
          go('refused'),
          seconds(130),
          deliver(0, { again: 'deleted' }),
          go('crash before'),
          deliver(0),
          go('well'),
          go('twice'),
          send(2),
          go('well'),
          seconds(130),
          seconds(130),
          seconds(400),
          go('well'),
          seconds(62),
          seconds(62),
          send(1),
          send(1),
          seconds(62),
          go('well'),
          deliver(0, { from: 1, count: 4 }),
          deliver(1),
          go('well'),
          go('well'),
          go('refused'),
          go('well'),
          go('well', 3),
          seconds(400),
          deliver(0, { from: 1 }),
          { do: 'send anew', message: 0, minutes: 3 },
          go('well'),
          go('well'),
          go('well'),
          go('well'),
          seconds(90000),
        ],
      ),
      family: 'grades',
      seed: 299,
    },
  },
  {
    title: 'a message that kills the function lies there twice: its copies do not hide each other’s crashes',
    history: enrollments([deadly, usual], [send(1), send(1), send(2)]),
  },
  {
    title: 'a message that kills the function is replayed while an older copy of it still comes',
    history: enrollments(
      [deadly],
      [send(1), day, deliver(0), go('refused'), go('well'), go('well'), go('refused'), replay],
    ),
  },
  {
    title: 'a message is done, and another copy of it comes long after: nobody has died',
    history: enrollments([usual], [send(1), send(1), deliver(1)]),
  },
  {
    title:
      'the function dies twice on the second copy of a message whose first is done: that is not three times',
    history: enrollments(
      [usual],
      [
        ...[send(1), deliver(0), go('well'), go('well'), go('well'), send(1), day],
        ...[deliver(1), go('well'), minutes(2), kill(0), send(1)],
        ...[deliver(0), go('well'), go('twice'), go('crash after')],
      ],
    ),
  },
  {
    title: 'a claim is written twice, as the answer to the first got lost: it is nobody else’s, and no death',
    history: enrollments([wrong], [send(1), deliver(0), go('twice')]),
  },
  {
    title: 'a claim is written, and its answer gets lost: it is taken back, and no death',
    history: enrollments([usual], [send(1), deliver(1), go('lost')]),
  },
  {
    title: 'a call is cut off, made again with success, and acts late: a newer message waits until it has',
    history: enrollments([usual, usual], [send(1), send(1), send(2), deliver(0), go('well'), go('late')]),
  },
  {
    title: 'a container is killed and its call acts late: a newer message waits until it has',
    history: {
      ...enrollments(
        [usual, { ...usual, minute: 1 }, usual],
        [
          ...[send(3), deliver(0), go('well'), go('refused'), go('well'), day],
          ...[deliver(0), go('well'), seconds(12), go('crash late'), send(2)],
        ],
      ),
      seed: 179,
    },
  },
  {
    title: 'a newer message is sent beside an older one whose container was killed',
    history: {
      ...enrollments(
        [{ ...usual, minute: 1 }, { ...wrong, thing: 1 }, usual],
        [
          ...[send(1), send(2), send(3), deliver(1, { from: 2, count: 3 }), send(1)],
          ...[go('well'), go('well'), go('well'), go('well'), kill(1)],
        ],
      ),
      family: 'grades',
      seed: 197,
    },
  },
  {
    title: 'it was looked for in vain: that something may have been done is not forgotten',
    history: submissions([send(1), send(1), deliver(0), go('well'), go('well'), day]),
  },
  {
    title: 'a letter is replayed that asked nobody to look: that decides nothing',
    history: submissions([send(1), deliver(0), go('well'), go('well'), day, deliver(0), go('refused')]),
  },
  {
    title: 'another letter of the message is replayed than the one that asked to look: that decides nothing',
    history: submissions([
      ...[send(1), deliver(0), go('well'), go('well'), day],
      ...[deliver(0), send(1), go('refused')],
    ]),
  },
  {
    title: 'a letter is replayed before it could be seen whether the call has acted: that decides nothing',
    history: submissions([
      ...[send(1), day, deliver(0), go('well'), go('well'), go('late')],
      ...[go('well'), go('twice'), replay],
    ]),
  },
  {
    title:
      'the answers to two calls get lost, both refusals: asking a third time is not asking once too often',
    history: enrollments(
      [wrong],
      [
        ...[send(1), deliver(0), go('well'), go('lost'), go('well'), go('well'), go('well')],
        ...[seconds(130), deliver(0), go('well'), go('well'), go('lost')],
      ],
    ),
  },
  {
    title: 'the older copy of a replayed message takes its claim over: its own letter can be replayed, too',
    history: {
      ...enrollments(
        [
          { ...deadly, thing: 1, comments: false, sequence: '9' },
          { ...deadly, thing: 1, comments: false, privateComments: false },
        ],
        [
          ...[send(1), send(2), day, send(1), replay, deliver(0), deliver(1)],
          ...[go('crash late'), go('well'), kill(1), seconds(400), replay],
        ],
      ),
      family: 'grades',
      lookalike: true,
    },
  },
  {
    title: 'a cache shows no grade yet: that is not taken for what a newer message has left there',
    history: {
      ...enrollments(
        [
          { ...usual, comments: false },
          { ...usual, comments: false, privateComments: false },
        ],
        [{ do: 'cache', thing: 0, seconds: 3_000 }, send(2), send(1)],
      ),
      family: 'grades',
    },
  },
  {
    title:
      'a comment is done, a later one leaves no outcome, and a cache shows no grade yet: a grade waits for the first',
    history: {
      ...enrollments(
        [
          { ...usual, comments: false, privateComments: false, minute: 1 },
          { ...usual, privateComments: false },
          { ...usual, privateComments: false },
        ],
        [
          ...[{ do: 'cache', thing: 0, seconds: 3_000 } as const, send(2), deliver(0)],
          ...[go('well'), go('well'), go('well'), go('well'), minutes(2), send(3), deliver(1)],
          ...[go('well'), go('well'), go('cut'), go('well'), go('well'), go('well'), minutes(2), send(1)],
          ...[deliver(2, { from: 1 }), go('well'), go('well'), go('well'), go('well')],
        ],
      ),
      family: 'grades',
    },
  },
  {
    title:
      'a message comes back each time in a batch with a newer one of its resource: it is not taken for done',
    history: {
      ...enrollments(
        [{ ...usual, comments: false }, usual, usual, { ...usual, comments: false, privateComments: false }],
        [
          ...[{ do: 'cache', thing: 0, seconds: 300 } as const, send(1), send(1), send(3), send(1), send(1)],
          ...[send(4), deliver(0, { count: 4 }), go('well'), deliver(1, { count: 2 }), go('refused')],
          ...[
            seconds(130),
            { do: 'deliver', container: 0, from: 0, count: 1, again: 'in flight' } as const,
            go('well'),
            go('well'),
          ],
          ...[send(1), day],
        ],
      ),
      family: 'grades',
      seed: 768,
    },
  },
  {
    title: 'nobody knows whether it was created: its name is not changed before it was looked for',
    history: {
      ...enrollments(
        [
          { ...usual, comments: false },
          { ...usual, removes: true },
        ],
        [send(1), deliver(0), go('well'), go('well'), go('lost'), send(2)],
      ),
      family: 'objects',
    },
  },
  {
    title:
      'a message dies on its claim, and its id of the SIS stands for nothing when it comes back: it is not presumed done',
    history: {
      ...enrollments(
        [
          { ...usual, privateComments: false },
          { ...usual, privateComments: false },
          { ...usual, removes: true, comments: false, privateComments: false },
          { ...usual, comments: false, privateComments: false },
          { ...usual, removes: true, comments: false, privateComments: false },
        ],
        [
          send(4),
          deliver(0),
          go('twice'),
          send(1),
          go('well'),
          deliver(2),
          go('well'),
          go('well'),
          send(2),
          go('well'),
          go('refused'),
          { do: 'go on', pick: 3, fate: 'well' } as const,
          go('well'),
          go('lost'),
          deliver(2),
          kill(2),
          seconds(130),
          send(3),
          day,
          { do: 'replay', pick: 1, corrected: true } as const,
        ],
      ),
      family: 'objects',
      seed: 0,
    },
  },
  {
    title:
      'a replay of what was done leaves no outcome, and comes back to the container that did it: no copy is sent again',
    history: {
      ...enrollments(
        [
          { ...usual, comments: false, privateComments: false },
          { ...usual, comments: false, privateComments: false },
          { ...usual, comments: false, wrong: true },
          { ...usual, comments: false, privateComments: false, minute: 1 },
          { ...usual, removes: true, comments: false, privateComments: false },
        ],
        [
          { do: 'cache', thing: 0, seconds: 300 } as const,
          send(3),
          deliver(0),
          go('well'),
          go('well'),
          go('well'),
          go('well'),
          send(5),
          deliver(1),
          day,
          replay,
          deliver(1),
          go('well'),
          go('well'),
          go('twice'),
          seconds(400),
          deliver(0),
          send(3),
          send(4),
          { do: 'change', thing: 0 } as const,
        ],
      ),
      family: 'grades',
      seed: 926,
    },
  },
  {
    title:
      'a person replays an uncertain letter beside a newer one, which is done first, while a cache hides it: its grade stays',
    history: {
      ...enrollments(
        [
          { ...wrong, removes: true, comments: false, privateComments: false },
          { ...wrong, removes: true, comments: false, privateComments: false, sequence: '10' },
          { ...usual, comments: false },
          { ...wrong, comments: false, privateComments: false },
        ],
        [
          send(3),
          send(2),
          deliver(0),
          go('well'),
          go('well'),
          send(2),
          seconds(400),
          { do: 'deliver', container: 0, from: 0, count: 2, again: 'in flight' } as const,
          send(1),
          day,
          { do: 'replay', pick: 0, corrected: true } as const,
          { do: 'redrive', pick: 0 } as const,
          { do: 'replay', pick: 2, corrected: false } as const,
          { do: 'cache', thing: 0, seconds: 30 } as const,
        ],
      ),
      family: 'grades',
    },
  },
  {
    title:
      'a redriven letter leaves a claim, and comes back when its name stands for nothing: no copy of it is a duplicate of that claim',
    history: {
      ...enrollments(
        [
          { ...usual, removes: true, comments: false, privateComments: false },
          { ...usual, comments: false, privateComments: false },
          { ...usual, comments: false, privateComments: false },
          { ...usual, removes: true, comments: false, privateComments: false },
          { ...wrong, privateComments: false },
        ],
        [
          send(2),
          send(5),
          deliver(0),
          day,
          send(2),
          { do: 'redrive', pick: 0 } as const,
          send(1),
          deliver(1),
          deliver(0),
          deliver(2),
          go('refused'),
          { do: 'go on', pick: 4, fate: 'well' } as const,
          day,
          { do: 'discard', pick: 0 } as const,
        ],
      ),
      family: 'objects',
      lookalike: true,
      seed: 686,
    },
  },
  {
    title:
      'a newer message of the same time is done, its outcome is not written, and an older one comes: it waits for that',
    history: {
      ...enrollments(
        [
          {
            ...usual,
            thing: 0,
            removes: true,
            comments: false,
            privateComments: false,
            minute: 0,
            wrong: false,
            deadly: false,
          },
          {
            ...usual,
            thing: 0,
            removes: true,
            comments: false,
            privateComments: false,
            minute: 0,
            wrong: true,
            deadly: false,
          },
        ],
        [send(2), deliver(1), go('well'), go('well'), send(1), go('refused')],
      ),
      family: 'enrollments',
      lookalike: false,
      seed: 0,
    },
  },
  {
    title: 'a message comes again with a later time, and its function dies: what is open has its first time',
    history: {
      ...enrollments(
        [
          {
            ...usual,
            thing: 0,
            removes: false,
            comments: false,
            privateComments: false,
            minute: 0,
            wrong: false,
            deadly: false,
          },
          {
            ...usual,
            thing: 0,
            removes: false,
            comments: false,
            privateComments: false,
            minute: 0,
            wrong: false,
            deadly: false,
          },
          {
            ...usual,
            thing: 1,
            removes: false,
            comments: false,
            privateComments: false,
            minute: 1,
            wrong: false,
            deadly: false,
          },
          {
            ...usual,
            thing: 1,
            removes: false,
            comments: false,
            privateComments: true,
            minute: 0,
            wrong: false,
            deadly: false,
          },
          {
            ...usual,
            thing: 0,
            removes: false,
            comments: false,
            privateComments: false,
            minute: 0,
            wrong: false,
            deadly: false,
          },
        ],
        [
          send(4),
          day,
          send(3),
          { do: 'send anew', message: 3, minutes: 3 } as const,
          deliver(0),
          go('well'),
          go('well'),
          go('well'),
          go('well'),
          deliver(1),
          { do: 'go on', pick: 3, fate: 'crash after' } as const,
        ],
      ),
      family: 'grades',
      lookalike: false,
      seed: 0,
    },
  },
  {
    title:
      'a creation kills its function three times, and a rename comes before its letter is there: the rename waits for that',
    history: {
      ...enrollments(
        [
          {
            ...usual,
            thing: 0,
            removes: false,
            comments: false,
            privateComments: false,
            minute: 0,
            wrong: true,
            deadly: true,
          },
          {
            ...usual,
            thing: 1,
            removes: true,
            comments: false,
            privateComments: false,
            minute: 0,
            wrong: false,
            deadly: false,
          },
          {
            ...usual,
            thing: 0,
            removes: true,
            comments: false,
            privateComments: false,
            minute: 0,
            wrong: false,
            deadly: false,
          },
          {
            ...usual,
            thing: 0,
            removes: false,
            comments: false,
            privateComments: false,
            minute: 0,
            wrong: false,
            deadly: false,
          },
        ],
        [send(4), deliver(0), go('well'), send(1), go('well'), seconds(62), send(2)],
      ),
      family: 'objects',
      lookalike: false,
      seed: 0,
    },
  },
  {
    title:
      'a person puts a message over a newer letter, and its function dies: the newer one is not older than it',
    history: {
      ...enrollments(
        [
          {
            ...usual,
            thing: 0,
            removes: false,
            comments: true,
            privateComments: true,
            minute: 0,
            wrong: true,
            deadly: false,
          },
          {
            ...usual,
            thing: 0,
            removes: true,
            comments: true,
            privateComments: true,
            minute: 0,
            wrong: true,
            deadly: false,
          },
          {
            ...usual,
            thing: 0,
            removes: false,
            comments: false,
            privateComments: false,
            minute: 0,
            wrong: false,
            deadly: false,
          },
        ],
        [
          send(2),
          send(1),
          deliver(0),
          go('well'),
          day,
          replay,
          replay,
          deliver(0, { from: 1 }),
          go('well'),
          seconds(130),
        ],
      ),
      family: 'grades',
      lookalike: true,
      seed: 0,
    },
  },
  {
    title:
      'a message that is remembered had no outcome, and the function dies on a newer one: what was done before both supersedes neither',
    history: {
      family: 'enrollments',
      messages: [
        { ...usual, thing: 1, comments: false, privateComments: false, sequence: '10', deadly: true },
        { ...usual, thing: 1, comments: false, privateComments: false },
        { ...usual, comments: false, privateComments: false, wrong: true },
        { ...usual, thing: 1, comments: false, privateComments: false },
      ],
      lookalike: false,
      seed: 659,
      steps: [
        { do: 'send', message: 0 },
        { do: 'deliver', container: 0, from: 0, count: 1, again: 'never' },
        { do: 'send', message: 1 },
        { do: 'send', message: 3 },
        { do: 'deliver', container: 2, from: 0, count: 2, again: 'never' },
        { do: 'go on', pick: 3, fate: 'well' },
        { do: 'go on', pick: 3, fate: 'well' },
        { do: 'go on', pick: 0, fate: 'well' },
        { do: 'go on', pick: 0, fate: 'lost' },
        { do: 'go on', pick: 0, fate: 'well' },
        { do: 'go on', pick: 0, fate: 'well' },
        { do: 'pass', seconds: 400 },
      ],
    },
  },
  {
    title:
      'a message whose grade is superseded gives a comment alone, and comes again after that was superseded, too',
    history: {
      family: 'grades',
      messages: [
        { ...usual, thing: 1, comments: false },
        { ...usual, thing: 1, removes: true, comments: false, privateComments: false, sequence: '9' },
        { ...usual, removes: true, comments: false, privateComments: false, wrong: true },
        { ...usual, thing: 1, comments: false },
      ],
      lookalike: false,
      seed: 0,
      steps: [
        { do: 'send', message: 1 },
        { do: 'send', message: 0 },
        { do: 'send', message: 3 },
        { do: 'send', message: 0 },
      ],
    },
  },
];
