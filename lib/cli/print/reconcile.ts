import { classes, classMeanings } from '../../reconcile/classes.ts';
import type { Chosen } from '../../reconcile/desk/choose.ts';
import type { FindingGroup } from '../../reconcile/desk/groups.ts';
import type { Comparison } from '../../reconcile/desk/read.ts';
import type { ResendPlan, Resent } from '../../reconcile/desk/resend.ts';
import type { Finding } from '../../reconcile/record.ts';
import { plain } from '../../redaction/printable.ts';
import { ageOf, numberOf } from '../../views/amounts.ts';
import {
  claims,
  comparisonNotes,
  fieldsText,
  groupFacts,
  groupTitle,
  groupTone,
  noGroupsText,
  resendPlanNotes,
  resentNotes,
  runFacts,
  runTitle,
  runTone,
} from '../../views/reconcile.ts';
import { noteLines, toned } from './notes.ts';
import { rest, right, tableOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

/** What a run says, its counts, and what to do about each group. */
export const comparisonLines = (comparison: Comparison, terminal: Terminal): string[] => {
  const { report, groups } = comparison;
  const { style, width } = terminal;
  return [
    style('bold', toned(runTone(report), runTitle(report), terminal)),
    ...wrapped(`${runFacts(report)}.`, width, '  '),
    '',
    ...claims(report).flatMap((note) => noteLines(note, terminal)),
    '',
    ...countLines(comparison, terminal),
    '',
    ...comparisonNotes(comparison).flatMap((note) => noteLines(note, terminal)),
    ...(groups.length === 0
      ? [noGroupsText(report)]
      : groups.flatMap((group) => groupLines(group, { terminal, run: runOption(comparison) }))),
  ];
};

/** What ended last needs no name. */
const runOption = ({ report, newer }: Comparison): string =>
  newer === undefined && report.state !== 'running' ? '' : ` --run ${report.id}`;

const countLines = ({ counts }: Pick<Comparison, 'counts'>, { style, width }: Terminal): string[] => {
  const [header = '', ...rows] = tableOf(
    [right('Writes'), 'Class', rest('What the platform shows')],
    classes
      .filter((name) => name === 'same' || counts[name] > 0)
      .map((name) => [numberOf(counts[name]), name, classMeanings[name]]),
    width,
  );
  return [style('dim', header), ...rows];
};

export const groupLines = (
  group: FindingGroup,
  { terminal, run }: { terminal: Terminal; run: string },
): string[] => {
  const { width, style, command } = terminal;
  const indent = '          ';
  const under = (text: string): string[] =>
    wrapped(text, width - indent.length, '  ').map((line) => `${indent}${line}`);
  return [
    '',
    ...wrapped(`${group.id} ${groupTitle(group)}`, width, indent).map((line) =>
      toned(groupTone(group), line, terminal),
    ),
    ...under(`${groupFacts(group)}, such as ${group.examples.map(plain).join(', ')}`),
    ...under(plain(group.remedy)),
    ...nextCommands(group).map((each) => `${indent}${style('dim', command(`${each}${run}`))}`),
  ];
};

/** Without the program's name. */
const nextCommands = ({ id, class: its }: FindingGroup): string[] => {
  const accept = `reconcile accept ${id} --reason "…"`;
  if (its === 'unreadable') return [`reconcile show --findings ${id}`];
  if (its === 'changed' || its === 'extra') return [accept];
  return [`reconcile resend ${id} --reason "…"`, accept];
};

/** The subjects of findings, one in a line. */
export const findingLines = ({ findings, omitted }: Comparison, terminal: Terminal): string[] => {
  const { style, width } = terminal;
  if (findings.length === 0) return ['None of these differs, or all differences are accepted.'];
  const [header = '', ...rows] = tableOf(
    ['Resource', 'Class', 'Fields', right('Written'), 'Chosen', rest('Message, or error')],
    findings.map(({ resource, class: its, fields, writtenMs, reason, messageId = '', error }: Finding) => [
      ...[plain(resource), its, fieldsText(fields)],
      writtenMs === undefined ? '–' : `${ageOf(writtenMs)} ago`,
      ...[reason, plain(error ?? messageId)],
    ]),
    width,
  );
  return [
    style('dim', header),
    ...rows,
    ...(omitted > 0
      ? [style('dim', `${numberOf(omitted)} more: a higher --limit shows them, and so does --json.`)]
      : []),
  ];
};

/** What an acceptance or a resend is about. */
export const chosenLines = ({ run, groups }: Chosen, title: string, { style, width }: Terminal): string[] => [
  style('bold', `${title}, as run ${run} reports:`),
  ...groups.flatMap((group) =>
    wrapped(`${group.id} ${groupTitle(group)}: ${groupFacts(group)}`, width - 2, '  ').map(
      (line) => `  ${line}`,
    ),
  ),
];

/** Of so many letters each is named. */
const maxLetters = 20;

export const resendPlanLines = (plan: ResendPlan, terminal: Terminal): string[] => [
  ...chosenLines(plan, 'To be sent again', terminal),
  ...resendPlanNotes(plan).flatMap((note) => noteLines(note, terminal)),
  ...plan.withLetter
    .slice(0, maxLetters)
    .map(
      ({ resource, letter }) =>
        `  ${plain(resource)}: ${terminal.command(`letters replay --id ${plain(letter)}`)}`,
    ),
  ...(plan.withLetter.length > maxLetters
    ? [`  and ${numberOf(plan.withLetter.length - maxLetters)} more`]
    : []),
];

export const resentLines = (resent: Resent, terminal: Terminal): string[] =>
  resentNotes(resent).flatMap((note) => noteLines(note, terminal));
