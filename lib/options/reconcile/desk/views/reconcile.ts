import { ageOf, countOf, durationOf, numberOf } from '../../../../desk/views/format.ts';
import type { Note, Tone, View } from '../../../../desk/views/view.ts';
import { plain } from '../../../../runtime/privacy/printable.ts';
import { type EffectClass, faultClasses } from '../../classes.ts';
import type { Report, Tally } from '../../record.ts';
import { upperBound } from '../../upper-bound.ts';
import type { FindingGroup } from '../groups.ts';
import type { LastComparison, ReviewedRun } from '../read.ts';
import type { ResendPlan, Resent } from '../resend.ts';

const hourMs = 3_600_000;

/** A share in percent with two digits, rounded up, so that “below” is always true. */
export const percentText = (share: number): string => {
  const percent = share * 100;
  if (percent >= 100) return '100 %';
  const digits = Math.max(0, 1 - Math.floor(Math.log10(percent)));
  const scale = 10 ** digits;
  // Avoids rounding up a floating-point error.
  return `${Number((Math.ceil(percent * scale - 1e-9) / scale).toFixed(digits))} %`;
};

const states: Record<Report['state'], [text: string, tone: Tone]> = {
  running: ['is running', 'plain'],
  whole: ['complete', 'good'],
  partial: ['ended before everything was checked', 'warn'],
  failed: ['failed', 'bad'],
};

export const runState = ({ state }: Pick<Report, 'state'>): string => states[state][0];
export const runTone = ({ state }: Pick<Report, 'state'>): Tone => states[state][1];

/** As in `Run 20261123T020000Z-0a1b2c3d: whole`. */
export const runTitle = (report: Report): string => `Run ${report.id}: ${runState(report)}`;

/** The time and duration of a run, and its calls of the platform. */
export const runFacts = ({ startedMs, endedMs, calls, entries }: Report): string => {
  const began = `${new Date(startedMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `Started ${began} (${ageOf(startedMs)} ago), took ${durationOf((endedMs - startedMs) / 1000)}; the ledger knew ${countOf(entries, 'grade or enrollment', 'grades and enrollments')}; ${countOf(calls, 'call')} to the platform`;
};

const sum = (tally: Tally, classes: readonly EffectClass[]): number =>
  classes.reduce((total, name) => total + tally.byClass[name], 0);

const seenFaults = faultClasses.filter((each) => each !== 'unreadable');

/** Resources that were seen, and so compared with what was sent. */
const seenIn = (tally: Tally): number => tally.looked - tally.uncompared - tally.byClass.unreadable;

/** As in `10 missing, 2 older`. */
const classesText = (tally: Tally, classes: readonly EffectClass[]): string =>
  classes
    .flatMap((name) => (tally.byClass[name] > 0 ? `${numberOf(tally.byClass[name])} ${name}` : []))
    .join(', ');

/** Why a claim is not about all writes. */
const gaps = (tally: Tally, { state }: Pick<Report, 'state'>): string[] => {
  const { selected, looked, uncompared, byClass } = tally;
  const left = selected - looked;
  const why = state === 'running' ? 'not checked yet' : 'not checked';
  return [
    ...(left > 0 ? [`${numberOf(left)} ${left === 1 ? 'was' : 'were'} ${why}`] : []),
    ...(byClass.unreadable > 0 ? [`${numberOf(byClass.unreadable)} could not be read`] : []),
    ...(uncompared > 0
      ? [`${numberOf(uncompared)} could not be compared (in progress, without a digest, or not shown)`]
      : []),
  ];
};

const othersText = (tally: Tally): string => {
  const { changed, extra } = tally.byClass;
  const parts = [
    ...(changed > 0 ? [`${numberOf(changed)} changed on the platform since`] : []),
    ...(extra > 0 ? [`${numberOf(extra)} on the platform but not in the SIS`] : []),
  ];
  return parts.length === 0 ? '' : ` Also: ${parts.join(', ')}.`;
};

const toneOf = (tally: Tally): Tone =>
  sum(tally, faultClasses) > 0
    ? 'bad'
    : tally.looked < tally.selected || tally.uncompared > 0
      ? 'warn'
      : 'good';

/** `512,340 writes of the last 25 hours: all were compared; none differs.` */
const allSeen = (of: string, tally: Tally, report: Report): Note => {
  const missed = gaps(tally, report);
  const seen =
    missed.length === 0
      ? 'all were compared'
      : `${numberOf(seenIn(tally))} were compared, ${missed.join(', ')}`;
  const faults = sum(tally, seenFaults);
  const differ =
    faults > 0
      ? `${numberOf(faults)} ${faults === 1 ? 'differs' : 'differ'}: ${classesText(tally, seenFaults)}`
      : seenIn(tally) > 0
        ? 'none differs'
        : 'nothing is known about them';
  return { tone: toneOf(tally), text: `${of}: ${seen}; ${differ}.${othersText(tally)}` };
};

const recentClaim = (report: Report): Note[] => {
  const { tallies, sinceMs, startedMs } = report;
  const { recent } = tallies;
  const isAll = sinceMs <= 0;
  const hours = Math.max(1, Math.round((startedMs - sinceMs) / hourMs));
  const when = isAll ? 'that the ledger knows' : `of the last ${countOf(hours, 'hour')}`;
  // A run that has not ended may not have read the whole ledger.
  if (recent.selected === 0 && report.state !== 'whole')
    return [{ tone: 'warn', text: `No write ${when} was checked.` }];
  if (recent.selected === 0)
    return [
      {
        tone: isAll ? 'warn' : 'plain',
        text: isAll
          ? 'The ledger knows no writes, so there was nothing to check.'
          : `There are no writes ${when}, so there was nothing to check.`,
      },
    ];
  return [allSeen(`${countOf(recent.selected, 'write')} ${when}`, recent, report)];
};

const sampleClaim = (report: Report): Note[] => {
  const { tallies, entries, share, state, sinceMs } = report;
  const { sample, recent } = tallies;
  const older = entries - recent.selected;
  // All writes are recent then.
  if (sinceMs <= 0) return [];
  if (older <= 0)
    return state === 'whole' ? [{ tone: 'plain', text: 'The ledger knows no older writes.' }] : [];
  if (sample.selected === 0)
    return [
      {
        tone: 'warn',
        text: `None of ${countOf(older, 'older write')} is in the random sample${state === 'running' ? ' so far' : ''}, so it says nothing about them.`,
      },
    ];
  if (share >= 1) return [allSeen(countOf(older, 'older write'), sample, report)];
  const faults = sum(sample, seenFaults);
  const seen = seenIn(sample);
  const differ = `${numberOf(faults)} of ${numberOf(seen)} sampled older writes ${faults === 1 ? 'differs' : 'differ'}`;
  const detail = faults > 0 ? ` (${classesText(sample, seenFaults)})` : '';
  const missed = gaps(sample, report);
  const others = othersText(sample);
  // Enrollments are checked by org unit, so the first ones are no random sample.
  if (sample.looked < sample.selected)
    return [
      {
        tone: faults > 0 ? 'bad' : 'warn',
        text: `${differ}${detail}. Of ${countOf(sample.selected, 'write')} in the random sample${state === 'running' ? ' so far' : ''}, ${missed.join(', ')}. A part of the sample says nothing about all ${numberOf(older)} older writes.${others}`,
      },
    ];
  if (seen === 0)
    return [
      { tone: 'warn', text: `Nothing is known about the sample of older writes: ${missed.join(', ')}.` },
    ];
  const bound = upperBound(faults, seen);
  const aside =
    missed.length === 0
      ? ''
      : ` Not counted: ${missed.join(', ')}. The figure says nothing about such writes.`;
  return [
    {
      tone: toneOf(sample),
      text: `${differ}${detail}: with 95 % confidence, less than ${percentText(bound)} of all ${numberOf(older)} older writes differ.${aside}${others}`,
    },
  ];
};

const sliceClaim = (report: Report): Note[] => {
  const { tallies, nights } = report;
  if (tallies.slice.selected === 0) return [];
  return [
    allSeen(
      `${countOf(tallies.slice.selected, 'older write')} whose turn it was (each has its turn once in ${countOf(nights, 'night')})`,
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
  const note: Note =
    selected === 0
      ? { tone: 'plain', text: `No org unit of ${named} had its turn.` }
      : allSeen(`${countOf(selected, 'enrollment')} of ${named}`, tallies.snapshot, report);
  if (unknown === 0) return [note];
  const text = `${countOf(unknown, 'enrollment')} of ${named} could not be compared: the crosswalk has no single id for their org units or users.`;
  return [note, { tone: 'warn', text }];
};

const stateNotes = (report: Report): Note[] => {
  const { state, why, endedMs } = report;
  const because = why === undefined ? '.' : `: ${plain(why).replace(/\.$/, '')}.`;
  if (state === 'running')
    return [{ tone: 'plain', text: `It is still running. This was its progress ${ageOf(endedMs)} ago.` }];
  if (state === 'failed')
    return [{ tone: 'bad', text: `It failed${because} The results below are incomplete.` }];
  if (state === 'partial')
    return [
      {
        tone: 'warn',
        text: `It ended before everything was checked${because} The results below are about what was checked.`,
      },
    ];
  return [];
};

/** A sentence each on recent writes, the sample, the writes whose turn it was, and snapshots. */
export const coverageNotes = (report: Report): Note[] => [
  ...stateNotes(report),
  ...recentClaim(report),
  ...sampleClaim(report),
  ...sliceClaim(report),
  ...snapshotClaim(report),
];

type NotedComparison = Pick<ReviewedRun, 'report' | 'faults' | 'acceptedSince' | 'unread' | 'newer'>;

export const comparisonNotes = ({ report, faults, acceptedSince, unread, newer }: NotedComparison): View => [
  report.accepted + acceptedSince > 0 && {
    tone: 'plain',
    text: `Operators have accepted ${countOf(report.accepted + acceptedSince, 'difference')}.`,
  },
  unread > 0 && {
    tone: 'warn',
    text: `${countOf(unread, 'line or part', 'lines and parts')} of the findings cannot be read, so the groups lack them.`,
  },
  faults > 0 && { tone: 'bad', text: `${countOf(faults, 'fault is', 'faults are')} not accepted.` },
  newer && {
    tone: runTone(newer),
    text: `There is a newer run, ${newer.id}: ${newer.state === 'running' ? 'it is running' : runState(newer)}.`,
  },
];

/** The names of a write's parts for people. */
const fieldNames: Record<string, string> = {
  grade: 'grade',
  comments: 'comment',
  privateComments: 'private comment',
  whole: 'role',
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
  report.state === 'running' ? 'No differences were found so far.' : 'There is nothing to decide.';

/** Shown before something is sent again. */
export const resendPlanNotes = ({ findings, withLetter }: ResendPlan): View => [
  withLetter.length > 0 && {
    tone: 'warn',
    text: `${countOf(withLetter.length, 'finding is', 'findings are')} not sent, because the message is a dead letter: replay that.`,
  },
  findings.length === 0 && { tone: 'plain', text: 'There is nothing to send.' },
  findings.length > 0 && {
    tone: 'plain',
    text: 'If the SIS’ last snapshots still hold what was written, it is sent again. The rest is listed for the SIS.',
  },
];

/** The result of a resend. */
export const resentNotes = ({ outcome, id = '', counts, why, result = '', listForSis }: Resent): View => {
  if (outcome === 'unheard')
    return [
      {
        tone: 'warn',
        text: `The request is ${id}. The function has not reported the result yet. The result will be in ${plain(result)}`,
      },
    ];
  if (counts === undefined) return [];
  return [
    outcome === 'failed' && {
      tone: 'bad',
      text: `It failed${why === undefined ? '' : `: ${plain(why)}`}. The counts include what was sent before.`,
    },
    counts.sent > 0 && {
      tone: 'good',
      text: `${countOf(counts.sent, 'message')} sent. The next comparison shows whether they had their effect.`,
    },
    counts.newer > 0 && {
      tone: 'plain',
      text: `${numberOf(counts.newer)} not sent: written again since, or changed on the platform.`,
    },
    counts['not-for-us'] > 0 && {
      tone: 'plain',
      text: `${numberOf(counts['not-for-us'])} not sent: not written by sis-relay.`,
    },
    counts['not-held'] > 0 && {
      tone: 'todo',
      text: `${numberOf(counts['not-held'])} not sent: no snapshot holds what was written. Have the SIS send what is listed in ${plain(listForSis ?? '')}`,
    },
  ];
};

/** The line about the last comparison in the status; undefined: there was none. */
export const lastComparisonNote = (last: LastComparison | undefined): Note | undefined => {
  if (last === undefined) return undefined;
  const { report, faults, atLeast } = last;
  const known =
    faults === 0 && !atLeast
      ? 'no unaccepted faults'
      : `${atLeast ? 'at least ' : ''}${countOf(faults, 'unaccepted fault')}`;
  return {
    tone: faults > 0 ? 'bad' : runTone(report),
    text: `Last comparison with the platform: ${ageOf(report.endedMs)} ago (${runState(report)}), ${known}.`,
  };
};
