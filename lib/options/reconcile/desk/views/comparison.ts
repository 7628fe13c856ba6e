import { numberOf } from '../../../../desk/views/format.ts';
import {
  type Block,
  badge,
  type Chart,
  href,
  list,
  section,
  table,
  text,
  type View,
} from '../../../../desk/views/view.ts';
import { classes, classMeanings, type EffectClass } from '../../classes.ts';
import type { Report } from '../../record.ts';
import { reasons } from '../../selection.ts';
import type { FindingGroup } from '../groups.ts';
import { countsOf, type ReviewedRun } from '../read.ts';
import type { ResendPlan } from '../resend.ts';
import {
  comparisonNotes,
  coverageNotes,
  fieldsText,
  groupFacts,
  groupTitle,
  groupTone,
  noGroupsText,
  resendPlanNotes,
  runFacts,
  runState,
  runTitle,
  runTone,
} from './reconcile.ts';

export const comparisonView = (comparison: ReviewedRun): View => {
  const { report, groups } = comparison;
  const known = [...coverageNotes(report), ...comparisonNotes(comparison)];
  return [
    { heading: runTitle(report), tone: runTone(report) },
    text(`${runFacts(report)}.`),
    { title: 'What is known', isFirst: true, part: known },
    section('What the platform shows', classTable(comparison)),
    section('What was checked', checkedTable(report), ...whatWasChosen(report)),
    section(
      'What differs, and what to do',
      groups.length === 0 ? text(noGroupsText(report)) : groupTable(comparison),
    ),
  ];
};

const sentenceCase = (words: string): string => words.replace(/^./, (first) => first.toUpperCase());

const classTable = ({ counts, report: { byKind } }: ReviewedRun): Block =>
  table(
    'Writes by class',
    classes.filter((name) => name === 'same' || counts[name] > 0),
    {
      Writes: (name) => counts[name],
      Class: (name) => name,
      Grades: (name) => byKind.grade[name],
      Enrollments: (name) => byKind.enrollment[name],
      'What the platform shows': (name) => classMeanings[name],
    },
  );

const reasonTexts: Record<(typeof reasons)[number], string> = {
  recent: 'written recently',
  slice: 'its turn',
  sample: 'by chance',
  snapshot: 'in a snapshot',
};

const checkedTable = (report: Report): Block => {
  const { tallies } = report;
  const counts = countsOf(report);
  const occur = classes.filter((name) => counts[name] > 0);
  return table('What was checked', reasons, {
    Why: (reason) => reasonTexts[reason],
    Chosen: (reason) => tallies[reason].selected,
    Checked: (reason) => tallies[reason].looked,
    'Not compared': (reason) => tallies[reason].uncompared,
    ...Object.fromEntries(
      occur.map((name) => [
        sentenceCase(name),
        (reason: (typeof reasons)[number]) => tallies[reason].byClass[name],
      ]),
    ),
  });
};

const minuteText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

const whatWasChosen = ({ snapshots, sinceMs, nights, share }: Report): View => {
  const since =
    sinceMs <= 0
      ? 'All writes that the ledger knows count as recent'
      : `Written recently: since ${minuteText(sinceMs)}`;
  const chance = share >= 1 ? 'all older ones' : `${(share * 100).toPrecision(2)} % of the older ones`;
  return [
    text(`${since}. By chance: ${chance}. Each older one has its turn once in ${numberOf(nights)} nights.`),
    snapshots.length !== 0 && text(`Compared with these snapshots of the SIS: ${snapshots.join(', ')}`),
  ];
};

const groupTable = (comparison: ReviewedRun): Block => {
  const { groups, report, newer } = comparison;
  // The run that ended last needs no name.
  const isNamed = newer !== undefined || report.state === 'running';
  const of = { run: report.id, ...(isNamed && { option: ` --run ${report.id}` }) };
  return table(
    'What differs',
    groups,
    {
      Group: ({ id }) => ({ text: id, code: true }),
      'What differs': (group) => ({ text: groupTitle(group), tone: groupTone(group) }),
    },
    {
      idOf: ({ id }) => id,
      under: (group) => [
        text(
          { text: groupFacts(group), to: href(`/reconcile/${group.id}`, { run: report.id }) },
          `, such as ${group.examples.join(', ')}`,
        ),
        { tone: 'todo', text: group.remedy },
        ...nextOf(group, of),
      ],
    },
  );
};

/** A group that cannot be read needs no decision. */
const nextOf = (
  { id, class: its }: FindingGroup,
  { run, option = '' }: { run: string; option?: string },
): View => {
  if (its === 'unreadable') return [{ command: `reconcile show --findings ${id}${option}` }];
  const isFault = its !== 'changed' && its !== 'extra';
  const commands = [...(isFault ? ['resend'] : []), 'accept'];
  return [
    ...commands.map((verb) => ({ command: `reconcile ${verb} ${id} --reason "…"${option}` })),
    {
      action: '/reconcile-decision',
      hidden: { run, group: id },
      fields: [{ reason: 'required' }],
      buttons: commands.map((value) => ({ text: value === 'accept' ? 'Accept' : 'Send again', value })),
    },
  ];
};

export const runsView = (reports: readonly Report[]): View => [
  section(
    'The last runs',
    { charts: chartsOf(reports) },
    table('The last runs', reports, {
      Run: ({ id }) => ({ text: id, to: href('/reconcile', { run: id }) }),
      Age: ({ startedMs }) => ({ sinceMs: startedMs }),
      State: (report) => badge(runState(report), runTone(report)),
      ...Object.fromEntries(
        classes.map((each) => [sentenceCase(each), (report: Report) => countsOf(report)[each]]),
      ),
      Accepted: ({ accepted }) => accepted,
    }),
  ),
];

const tones: Partial<Record<EffectClass, string>> = {
  same: 'good',
  changed: 'warn',
  extra: 'warn',
  missing: 'bad',
  older: 'bad',
  different: 'bad',
  unreadable: 'bad',
};

/** One small chart for each class that occurs: beside `same`, the others would be invisible. */
const chartsOf = (reports: readonly Report[]): Chart[] => {
  const all = reports.toReversed().map((report) => ({ report, counts: countsOf(report) }));
  const labels = all.map(({ report }) => minuteText(report.startedMs).slice(0, 16));
  return classes.flatMap((each) => {
    const values = all.map(({ counts }) => counts[each]);
    const series = [{ name: 'writes', tone: tones[each] ?? 'plain', values }];
    return values.some((count) => count > 0) ? [{ title: sentenceCase(each), labels, series }] : [];
  });
};

/** For readers who do not know how a report is made. */
export const meaningsView = ({ nights }: Report): View => [
  section(
    'What these figures mean',
    ...[
      'sis-relay keeps a keyed digest of each field that it has written, for as long as its ledger remembers. A run reads the platform and compares what the platform shows with these digests. It changes nothing.',
      '“All were compared” means that each of these writes was read on the platform and compared. “None differs” means that each still had the value that was sent last. What somebody has changed on the platform since is counted separately.',
      'A figure “with 95 % confidence” is the upper bound of Clopper and Pearson for a random sample. If a larger share of all older writes differed, a sample would show so few of them in at most one of twenty runs. No such figure is given if only a part of the sample was checked.',
      'What a person or another program has changed on the platform since is not a fault. It is counted separately. So is what is on the platform but not in the SIS.',
      'A write cannot be compared if it is in progress, if its digest is missing or was made with a key that no longer exists, or if the platform does not show it.',
      `Each older write has its turn once in ${numberOf(nights)} nights. So a fault in it is found within that time, if every run finishes.`,
    ].map((sentence) => text(sentence)),
  ),
];

export const findingsView = ({ findings, omitted }: Pick<ReviewedRun, 'findings' | 'omitted'>): View => [
  table(
    'Findings',
    findings,
    {
      Resource: ({ resource }) => ({ text: resource, to: href('/trace', { id: resource }) }),
      Class: (finding) => finding.class,
      Fields: ({ fields }) => fieldsText(fields),
      Age: ({ writtenMs }) => ({ sinceMs: writtenMs }),
      Chosen: ({ reason }) => reason,
      'Message, or error': ({ error, messageId = '' }) => error ?? messageId,
    },
    { empty: 'None of these differs, or all differences are accepted.' },
  ),
  omitted > 0 && { more: `The first ${numberOf(findings.length)} of ${numberOf(findings.length + omitted)}` },
];

type SelectedGroups = { run: string; groups: readonly FindingGroup[] };

/** The findings of an acceptance or a resend. */
export const chosenView = ({ run, groups }: SelectedGroups): View => [
  { heading: `As run ${run} reports:` },
  table('What is meant', groups, {
    Group: ({ id }) => ({ text: id, code: true }),
    'What differs': groupTitle,
    Of: groupFacts,
  }),
];

/** Maximum number of letters that are named. */
const maxLetters = 20;

export const resendPlanView = (plan: ResendPlan): View => {
  const { withLetter } = plan;
  const left = withLetter.length - maxLetters;
  return [
    ...chosenView(plan),
    ...resendPlanNotes(plan),
    ...withLetter
      .slice(0, maxLetters)
      .flatMap(
        ({ resource, letter }): View => [
          list([{ text: resource, to: `/letters/${encodeURIComponent(letter)}` }]),
          { command: `letters replay --id ${letter}` },
        ],
      ),
    left > 0 && text(`and ${numberOf(left)} more`),
  ];
};
