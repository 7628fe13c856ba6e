import { type EffectClass, faultClasses } from '../reconcile/classes.ts';
import type { FindingGroup } from '../reconcile/desk/groups.ts';
import type { Comparison, LastComparison } from '../reconcile/desk/read.ts';
import type { ResendPlan, Resent } from '../reconcile/desk/resend.ts';
import { upperBound } from '../reconcile/figures.ts';
import type { Report, Tally } from '../reconcile/record.ts';
import { plain } from '../redaction/printable.ts';
import { ageOf, countOf, durationOf, numberOf } from './amounts.ts';
import { type Note, noteIf, type Tone } from './notes.ts';

const hourMs = 3_600_000;

/** A share in percent of two digits, rounded up: what is said to be below it is below it. */
export const percentText = (share: number): string => {
  const percent = share * 100;
  if (percent >= 100) return '100 %';
  const digits = Math.max(0, 1 - Math.floor(Math.log10(percent)));
  const scale = 10 ** digits;
  // Not by what floating-point numbers lack.
  return `${Number((Math.ceil(percent * scale - 1e-9) / scale).toFixed(digits))} %`;
};

const states: Record<Report['state'], [text: string, tone: Tone]> = {
  running: ['is running', 'plain'],
  whole: ['whole', 'good'],
  partial: ['not at its end when its time was over', 'warn'],
  failed: ['failed', 'bad'],
};

export const runState = ({ state }: Pick<Report, 'state'>): string => states[state][0];
export const runTone = ({ state }: Pick<Report, 'state'>): Tone => states[state][1];

/** As in `Run 20261123T020000Z-0a1b2c3d: whole`. */
export const runTitle = (report: Report): string => `Run ${report.id}: ${runState(report)}`;

/** When it was, for how long, and what it cost the platform. */
export const runFacts = ({ startedMs, endedMs, calls, entries }: Report): string => {
  const began = `${new Date(startedMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `Begun ${began} (${ageOf(startedMs)} ago), ${durationOf((endedMs - startedMs) / 1000)} long; the ledger knew ${countOf(entries, 'grade or enrollment', 'grades and enrollments')}; ${countOf(calls, 'call')} of the platform`;
};

const sum = (tally: Tally, classes: readonly EffectClass[]): number =>
  classes.reduce((total, name) => total + tally.byClass[name], 0);

const seenFaults = faultClasses.filter((each) => each !== 'unreadable');

/** What was seen, and so was compared with what was sent. */
const seenIn = (tally: Tally): number => tally.looked - tally.uncompared - tally.byClass.unreadable;

/** As in `10 missing, 2 older`. */
const classesText = (tally: Tally, classes: readonly EffectClass[]): string =>
  classes
    .flatMap((name) => (tally.byClass[name] > 0 ? `${numberOf(tally.byClass[name])} ${name}` : []))
    .join(', ');

/** What keeps a claim from being about all. */
const gaps = (tally: Tally, { state }: Pick<Report, 'state'>): string[] => {
  const { selected, looked, uncompared, byClass } = tally;
  const left = selected - looked;
  const why = state === 'running' ? 'not looked at yet' : 'not looked at';
  return [
    ...(left > 0 ? [`${numberOf(left)} ${left === 1 ? 'was' : 'were'} ${why}`] : []),
    ...(byClass.unreadable > 0 ? [`${numberOf(byClass.unreadable)} could not be read`] : []),
    ...(uncompared > 0
      ? [`of ${numberOf(uncompared)} nothing can be said (in progress, without a digest, or not shown)`]
      : []),
  ];
};

const othersText = (tally: Tally): string => {
  const { changed, extra } = tally.byClass;
  const told = [
    ...(changed > 0 ? [`${numberOf(changed)} changed on the platform since`] : []),
    ...(extra > 0 ? [`${numberOf(extra)} there and not in the SIS`] : []),
  ];
  return told.length === 0 ? '' : ` Beside that: ${told.join(', ')}.`;
};

const toneOf = (tally: Tally): Tone =>
  sum(tally, faultClasses) > 0
    ? 'bad'
    : tally.looked < tally.selected || tally.uncompared > 0
      ? 'warn'
      : 'good';

/** `Of 512,340 writes of the last 25 hours all were seen; none differs.` */
const allSeen = (of: string, tally: Tally, report: Report): Note => {
  const missed = gaps(tally, report);
  const seen =
    missed.length === 0 ? 'all were seen' : `${numberOf(seenIn(tally))} were seen, ${missed.join(', ')}`;
  const faults = sum(tally, seenFaults);
  const differ =
    faults > 0
      ? `${numberOf(faults)} ${faults === 1 ? 'differs' : 'differ'}: ${classesText(tally, seenFaults)}`
      : seenIn(tally) > 0
        ? 'none differs'
        : 'so nothing is known of them';
  return { tone: toneOf(tally), text: `Of ${of} ${seen}; ${differ}.${othersText(tally)}` };
};

const recentClaim = (report: Report): Note[] => {
  const { tallies, sinceMs, startedMs } = report;
  const { recent } = tallies;
  const isAll = sinceMs <= 0;
  const hours = Math.max(1, Math.round((startedMs - sinceMs) / hourMs));
  const when = isAll ? 'that the ledger knows' : `of the last ${countOf(hours, 'hour')}`;
  // One that has not come to its end may not have read the whole ledger.
  if (recent.selected === 0 && report.state !== 'whole')
    return [{ tone: 'warn', text: `No write ${when} was looked at.` }];
  if (recent.selected === 0)
    return [
      {
        tone: isAll ? 'warn' : 'plain',
        text: isAll
          ? 'The ledger knows no write, so there was nothing to look at.'
          : `No write is ${when}, so there was nothing to look at.`,
      },
    ];
  return [allSeen(`${countOf(recent.selected, 'write')} ${when}`, recent, report)];
};

const sampleClaim = (report: Report): Note[] => {
  const { tallies, entries, share, state, sinceMs } = report;
  const { sample, recent } = tallies;
  const older = entries - recent.selected;
  // All of them are recent then.
  if (sinceMs <= 0) return [];
  if (older <= 0) return noteIf(state === 'whole', 'plain', 'The ledger knows no older write.');
  if (sample.selected === 0)
    return [
      {
        tone: 'warn',
        text: `Of ${countOf(older, 'older write')} chance has chosen none${state === 'running' ? ' so far' : ''}, so the sample says nothing of them.`,
      },
    ];
  if (share >= 1) return [allSeen(`all ${countOf(older, 'older write')}`, sample, report)];
  const faults = sum(sample, seenFaults);
  const seen = seenIn(sample);
  const differ = `${numberOf(faults)} of ${numberOf(seen)} sampled older ones ${faults === 1 ? 'differs' : 'differ'}`;
  const detail = faults > 0 ? ` (${classesText(sample, seenFaults)})` : '';
  const missed = gaps(sample, report);
  const others = othersText(sample);
  // They are looked at by org unit: the first of them are no sample of all.
  if (sample.looked < sample.selected)
    return [
      {
        tone: faults > 0 ? 'bad' : 'warn',
        text: `${differ}${detail}, of ${numberOf(sample.selected)} that chance has chosen${state === 'running' ? ' so far' : ''}: ${missed.join(', ')}. What was looked at is in order, and not a sample, so it says nothing of all ${numberOf(older)}.${others}`,
      },
    ];
  if (seen === 0)
    return [{ tone: 'warn', text: `Of the sample of older ones nothing is known: ${missed.join(', ')}.` }];
  const bound = upperBound(faults, seen);
  const aside =
    missed.length === 0
      ? ''
      : ` Left out of that: ${missed.join(', ')}; the figure says nothing of their like.`;
  return [
    {
      tone: toneOf(sample),
      text: `${differ}${detail}: below ${percentText(bound)} with 95 % confidence (they are ${numberOf(older)} in all).${aside}${others}`,
    },
  ];
};

const sliceClaim = (report: Report): Note[] => {
  const { tallies, nights } = report;
  if (tallies.slice.selected === 0) return [];
  return [
    allSeen(
      `${countOf(tallies.slice.selected, 'older one')} whose turn it was (each has it once in ${countOf(nights, 'night')})`,
      tallies.slice,
      report,
    ),
  ];
};

const snapshotClaim = (report: Report): Note[] => {
  const { tallies, snapshots, unknown } = report;
  if (snapshots.length === 0) return [];
  const named = `the SIS’ ${snapshots.length === 1 ? 'snapshot' : 'snapshots'} ${snapshots.map(plain).join(', ')}`;
  const { selected } = tallies.snapshot;
  return [
    selected === 0
      ? { tone: 'plain', text: `It was the turn of no org unit of ${named}.` }
      : allSeen(`${countOf(selected, 'enrollment')} of ${named}`, tallies.snapshot, report),
    ...noteIf(
      unknown > 0,
      'warn',
      `${countOf(unknown, 'enrollment')} of ${named} could not be compared: the crosswalk does not know their org units or users for sure.`,
    ),
  ];
};

const stateNotes = (report: Report): Note[] => {
  const { state, why, endedMs } = report;
  const because = why === undefined ? '.' : `: ${plain(why).replace(/\.$/, '')}.`;
  if (state === 'running')
    return [{ tone: 'plain', text: `It is running: this is how far it had come ${ageOf(endedMs)} ago.` }];
  if (state === 'failed')
    return [{ tone: 'bad', text: `It failed${because} What follows is how far it had come.` }];
  if (state === 'partial')
    return [
      {
        tone: 'warn',
        text: `Its time was over before all was looked at${because} What follows holds for what was looked at.`,
      },
    ];
  return [];
};

/** What a run says, a sentence each: of recent writes, of the sample, of those whose turn it was, and of snapshots. */
export const claims = (report: Report): Note[] => [
  ...stateNotes(report),
  ...recentClaim(report),
  ...sampleClaim(report),
  ...sliceClaim(report),
  ...snapshotClaim(report),
];

type Told = Pick<Comparison, 'report' | 'faults' | 'acceptedSince' | 'unread' | 'newer'>;

/** What else a person should know. */
export const comparisonNotes = ({ report, faults, acceptedSince, unread, newer }: Told): Note[] => [
  ...noteIf(
    report.accepted + acceptedSince > 0,
    'plain',
    `Operators have accepted ${countOf(report.accepted + acceptedSince, 'difference')} of them.`,
  ),
  ...noteIf(
    unread > 0,
    'warn',
    `${countOf(unread, 'line or part', 'lines and parts')} of the findings cannot be read: the groups lack them.`,
  ),
  ...noteIf(faults > 0, 'bad', `${countOf(faults, 'fault')} that nobody has accepted.`),
  ...(newer
    ? [
        {
          tone: runTone(newer),
          text: `A newer run, ${newer.id}, ${newer.state === 'running' ? 'is running' : runState(newer)}.`,
        },
      ]
    : []),
];

/** The parts of a write, as people call them. */
const fieldNames: Record<string, string> = {
  ...{ grade: 'grade', comments: 'comment', privateComments: 'private comment', whole: 'role' },
};

export const fieldsText = (fields: readonly string[]): string =>
  fields.map((each) => fieldNames[each] ?? plain(each)).join(', ');

/** As in `Grades missing (grade, comment)`. */
export const groupTitle = ({ kind, class: its, fields, error }: FindingGroup): string => {
  const what = kind === 'grade' ? 'Grades' : 'Enrollments';
  const parts = fieldsText(fields);
  return `${what} ${its}${parts === '' ? '' : ` (${parts})`}${error === undefined ? '' : `: ${plain(error)}`}`;
};

/** How many, of whom, and when they were written. */
export const groupFacts = ({ findings, users, orgUnits, earliestMs, latestMs }: FindingGroup): string => {
  const written =
    earliestMs === undefined || latestMs === undefined
      ? ''
      : earliestMs === latestMs
        ? `, written ${ageOf(latestMs)} ago`
        : `, written ${ageOf(earliestMs)} to ${ageOf(latestMs)} ago`;
  return `${countOf(findings, 'finding')} of ${countOf(users, 'user')} in ${countOf(orgUnits, 'org unit')}${written}`;
};

export const groupTone = ({ class: its }: Pick<FindingGroup, 'class'>): Tone =>
  (faultClasses as readonly EffectClass[]).includes(its) ? 'bad' : 'warn';

export const noGroupsText = (report: Report): string =>
  report.state === 'running' ? 'Nothing that differs was found so far.' : 'There is nothing to decide.';

/** Before something is sent again. */
export const resendPlanNotes = ({ findings, withLetter }: ResendPlan): Note[] => [
  ...noteIf(
    withLetter.length > 0,
    'warn',
    `${countOf(withLetter.length, 'finding')} not sent, as the message lies as a letter: replay it.`,
  ),
  ...noteIf(findings.length === 0, 'plain', 'So there is nothing to send.'),
  ...noteIf(
    findings.length > 0,
    'plain',
    'What the last snapshots of the SIS have as it was written is sent; the rest is listed for the SIS.',
  ),
];

/** What became of it. */
export const resentNotes = ({ outcome, id = '', counts, why, result = '', listForSis }: Resent): Note[] => {
  if (outcome === 'unheard')
    return [
      {
        tone: 'warn',
        text: `It was asked for as ${id}; the function has not told yet what became of it. It will be in ${plain(result)}`,
      },
    ];
  if (counts === undefined) return [];
  return [
    ...noteIf(
      outcome === 'failed',
      'bad',
      `It failed${why === undefined ? '' : `: ${plain(why)}`}. What was sent before is counted.`,
    ),
    ...noteIf(
      counts.sent > 0,
      'good',
      `${countOf(counts.sent, 'message')} sent: the next comparison shows what became of them.`,
    ),
    ...noteIf(
      counts.newer > 0,
      'plain',
      `${numberOf(counts.newer)} not sent, as it was written again since, or changed on the platform.`,
    ),
    ...noteIf(
      counts['not-for-us'] > 0,
      'plain',
      `${numberOf(counts['not-for-us'])} not sent, as nothing was written of it.`,
    ),
    ...noteIf(
      counts['not-held'] > 0,
      'todo',
      `${numberOf(counts['not-held'])} not sent, as no snapshot has it as it was written: have the SIS send what is listed in ${plain(listForSis ?? '')}`,
    ),
  ];
};

/** One line of the state of everything; undefined: nothing was compared yet. */
export const lastComparisonNote = (last: LastComparison | undefined): Note | undefined => {
  if (last === undefined) return undefined;
  const { report, faults, atLeast } = last;
  const known =
    faults === 0 && !atLeast
      ? 'no fault that nobody has accepted'
      : `${atLeast ? 'at least ' : ''}${countOf(faults, 'fault')} that nobody has accepted`;
  return {
    tone: faults > 0 ? 'bad' : runTone(report),
    text: `The platform was compared with what was sent ${ageOf(report.endedMs)} ago (${runState(report)}): ${known}.`,
  };
};
