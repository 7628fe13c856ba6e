import type { Target } from '../../deployment/target.ts';
import { plain } from '../../redaction/printable.ts';
import { ageOf, numberOf } from '../../views/amounts.ts';
import { subjectOf } from '../../views/letters.ts';
import {
  hiddenText,
  nextOfGroup,
  nextText,
  nothingWaitsText,
  remarksOn,
  waitText,
  wakePlanNotes,
  wokenNotes,
} from '../../views/waiting.ts';
import type { Waiting, WaitingGroup } from '../../waiting/waiting.ts';
import type { WakePlan, Woken } from '../../waiting/wake.ts';
import { noteLines } from './notes.ts';
import { rest, right, tableOf, truncated, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

type Print = { target: Target; terminal: Terminal };

const indent = ' '.repeat(10);

export const waitingLines = (found: Waiting, { target, terminal }: Print): string[] => {
  const { groups, messages, matching } = found;
  const name = target.prefix.slice(0, -1);
  if (matching === 0) return [nothingWaitsText(name)];
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
    style('bold', `${name}: ${waitText(matching)}`),
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
            `The ${numberOf(messages.length)} that have waited longest, of ${numberOf(matching)}: a higher --limit shows more.`,
          ),
        ]
      : []),
    ...remarksOn(groups, '--log').flatMap((remark) => wrapped(remark, width)),
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
export const waitingGroupLines = (groups: WaitingGroup[], terminal: Terminal): string[] => {
  const [header = '', ...rows] = tableOf(
    [right('Messages'), 'Function', 'Kind', right('Oldest'), right('Tries'), 'Next try'],
    groups.map((group) => [
      numberOf(group.messages),
      plain(group.function) || '–',
      group.kind,
      ageOf(group.oldestMs),
      numberOf(group.attempts),
      nextOfGroup(group),
    ]),
    terminal.width,
  );
  return [
    terminal.style('dim', header),
    ...groups.flatMap(({ error, remedy }, at) => [
      rows[at] ?? '',
      ...noteLines({ tone: 'plain', text: plain(error) }, terminal, indent),
      ...(remedy === '' ? [] : noteLines({ tone: 'todo', text: plain(remedy) }, terminal, indent)),
    ]),
  ];
};

export const wakePlanLines = (plan: WakePlan, { target, terminal }: Print): string[] => [
  terminal.style('bold', `${target.prefix.slice(0, -1)}: ${hiddenText(plan.messages)}`),
  ...(plan.messages === 0 ? [] : ['', ...waitingGroupLines(plan.groups, terminal), '']),
  ...wakePlanNotes(plan).map(({ text }) => text),
];

export const wokenLines = (woken: Omit<Woken, 'plan'>): string[] => wokenNotes(woken).map(({ text }) => text);
