import type { WaitingGroup, WaitingMessage } from '../waiting/waiting.ts';
import type { WakePlan, Woken } from '../waiting/wake.ts';
import { ageOf, countOf } from './amounts.ts';
import { type Note, noteIf } from './view.ts';

/** When a message is tried next. */
export const nextText = ({ next, nextMs = 0 }: Pick<WaitingMessage, 'next' | 'nextMs'>): string =>
  next === 'later' ? inTime(nextMs) : next;

/** When the next of them is tried. */
export const nextOfGroup = ({ nextMs, due }: Pick<WaitingGroup, 'nextMs' | 'due'>): string =>
  nextMs === undefined ? (due > 0 ? 'due' : 'unknown') : inTime(nextMs);

/** `in 3 min`. */
const inTime = (ms: number): string => `in ${ageOf(Date.now() - (ms - Date.now()))}`;

export const waitText = (messages: number): string => countOf(messages, 'message waits', 'messages wait');

export const nothingWaitsText = (name: string): string => `${name}: no message waits, or none matches.`;

const sum = (groups: WaitingGroup[], count: (group: WaitingGroup) => number): number =>
  groups.reduce((all, group) => all + count(group), 0);

/** @param log what adds the functions' log to a trace: the option of the command, by its name. */
export const remarksOn = (groups: WaitingGroup[], log = 'the functions’ log'): string[] => {
  const due = sum(groups, (group) => group.due);
  const unknown = sum(groups, (group) => group.unknown);
  return [
    ...(due > 0
      ? [
          `${countOf(due, 'message is', 'messages are')} due: the function has them, or its queue has others before them, or it is paused.`,
        ]
      : []),
    ...(unknown > 0
      ? [
          `${countOf(unknown, 'message')} may no longer wait: the next try is long past. Either the queue has many messages before them, or the function is paused, or they ended and that could not be recorded. To find out, trace one of them with ${log}.`,
        ]
      : []),
  ];
};

export const hiddenText = (messages: number): string =>
  `${countOf(messages, 'message is', 'messages are')} hidden until the next try`;

export const wakePlanNotes = ({ due }: Pick<WakePlan, 'due'>): Note[] =>
  noteIf(
    due > 0,
    'plain',
    `${countOf(due, 'more message is', 'more messages are')} due already, and left alone.`,
  );

export const wokenNotes = ({ woken, taken, failed, left }: Omit<Woken, 'plan'>): Note[] => {
  const messages = (count: number) => countOf(count, 'message was', 'messages were');
  return [
    ...noteIf(woken > 0, 'good', `${messages(woken)} woken: their functions take them now.`),
    ...noteIf(taken > 0, 'plain', `${messages(taken)} already taken by their functions.`),
    ...noteIf(
      failed.length > 0,
      'bad',
      `${countOf(failed.length, 'message')} could not be woken (${failed[0]?.reason}). They are tried again at the planned time.`,
    ),
    ...noteIf(left > 0, 'warn', `${messages(left)} not woken. They are tried again at the planned time.`),
  ];
};
