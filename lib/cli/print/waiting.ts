import type { Target } from '../../deployment/target.ts';
import { plain } from '../../redaction/printable.ts';
import type { Waiting, WaitingGroup, WaitingMessage } from '../../waiting/waiting.ts';
import type { WakePlan, Woken } from '../../waiting/wake.ts';
import { subjectOf } from './letters.ts';
import { ageOf, countOf, numberOf, rest, right, tableOf, truncated, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

type Print = { target: Target; terminal: Terminal };

const indent = ' '.repeat(10);

export const waitingLines = (found: Waiting, { target, terminal }: Print): string[] => {
  const { groups, messages, matching } = found;
  const name = target.prefix.slice(0, -1);
  if (matching === 0) return [`${name}: nothing waits, or nothing that matches.`];
  const { style, width } = terminal;
  const [header = '', ...rows] = tableOf(
    ['Id', right('Age'), 'Function', 'Kind', right('Tries'), 'Next', rest('About')],
    messages.map((message) => [
      message.id.slice(0, 8),
      ageOf(message.firstMs ?? Date.now()),
      truncated(plain(message.function), 24),
      message.kind,
      numberOf(message.attempts),
      nextText(message),
      subjectOf(message) || '–',
    ]),
    width,
  );
  return [
    style('bold', `${name}: ${countOf(matching, 'message waits', 'messages wait')}`),
    '',
    ...waitingGroupLines(groups, terminal),
    '',
    style('dim', header),
    ...rows,
    '',
    ...(messages.length < matching
      ? [
          style(
            'dim',
            `The ${numberOf(messages.length)} that have waited longest, of ${numberOf(matching)}: --limit shows more.`,
          ),
        ]
      : []),
    ...remarksOn(groups).flatMap((remark) => wrapped(remark, width)),
    ...wrapped(
      `All of one: ${terminal.command(`trace ${messages[0]?.id.slice(0, 8) ?? ''}`)}. Once a cause is gone: ${terminal.command(wakeOf(groups))}`,
      width,
      '  ',
    ).map((line) => style('dim', line)),
  ];
};

/** Of the largest cause, as an example of what can be typed. */
export const wakeOf = ([group]: WaitingGroup[]): string =>
  `waiting wake --kind ${group?.kind ?? 'credentials'}`;

/** For each cause a row, its error, and who must do what. */
export const waitingGroupLines = (groups: WaitingGroup[], { style, width }: Terminal): string[] => {
  const [header = '', ...rows] = tableOf(
    [right('Messages'), 'Function', 'Kind', right('Oldest'), right('Tries'), 'Next try'],
    groups.map((group) => [
      numberOf(group.messages),
      plain(group.function) || '–',
      group.kind,
      ageOf(group.oldestMs),
      numberOf(group.attempts),
      group.nextMs === undefined ? (group.due > 0 ? 'due' : 'unknown') : inTime(group.nextMs),
    ]),
    width,
  );
  const lines = (text: string) =>
    wrapped(plain(text), width - indent.length, '  ').map((line) => indent + line);
  return [
    style('dim', header),
    ...groups.flatMap(({ error, remedy }, at) => [
      rows[at] ?? '',
      ...lines(error),
      ...(remedy === '' ? [] : lines(`→ ${remedy}`).map((line) => style('green', line))),
    ]),
  ];
};

const sum = (groups: WaitingGroup[], count: (group: WaitingGroup) => number): number =>
  groups.reduce((all, group) => all + count(group), 0);

export const remarksOn = (groups: WaitingGroup[]): string[] => {
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
          `Of ${countOf(unknown, 'message')} it is not known whether they still wait: their next try is long past. Either their queue has many before them, or is paused, or they ended and that could not be written down. The trace of one tells, with --log.`,
        ]
      : []),
  ];
};

const nextText = ({ next, nextMs = 0 }: WaitingMessage): string => (next === 'later' ? inTime(nextMs) : next);

/** `in 3 min`. */
const inTime = (ms: number): string => `in ${ageOf(Date.now() - (ms - Date.now()))}`;

export const wakePlanLines = ({ groups, messages, due }: WakePlan, { target, terminal }: Print): string[] => [
  terminal.style(
    'bold',
    `${target.prefix.slice(0, -1)}: ${countOf(messages, 'message is', 'messages are')} hidden until the next try`,
  ),
  ...(messages === 0 ? [] : ['', ...waitingGroupLines(groups, terminal), '']),
  ...(due > 0
    ? [`${countOf(due, 'further message is', 'further messages are')} due already: nothing is done to them.`]
    : []),
];

export const wokenLines = ({ woken, taken, failed, left }: Omit<Woken, 'plan'>): string[] => [
  ...(woken > 0
    ? [`${countOf(woken, 'message was', 'messages were')} woken: their functions take them now.`]
    : []),
  ...(taken > 0
    ? [`${countOf(taken, 'message was', 'messages were')} already taken by their functions.`]
    : []),
  ...(failed.length > 0
    ? [
        `${countOf(failed.length, 'message')} could not be woken (${failed[0]?.reason}): they come at their time.`,
      ]
    : []),
  ...(left > 0
    ? [`${countOf(left, 'message was', 'messages were')} not woken: they come at their time.`]
    : []),
];
