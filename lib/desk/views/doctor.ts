import type { DoctorReport, StepReport } from '../../stage/doctor/report.ts';
import type { Step } from '../../stage/doctor/step.ts';
import { countOf, durationOf } from './format.ts';
import { list, section, type Tone, text, type View } from './view.ts';

export const doctorStepsView = (steps: readonly Step[]): View => [
  ...steps.map(({ id, claim, does, costs, minutes, expected, rights }) =>
    section(id, {
      facts: [
        ['Claim', claim],
        ['Does', does],
        ['Expected', expected],
        ['Takes', `up to ${durationOf(minutes * 60)}`],
        ['Costs', costs],
        ['Needs', rights.join(', ')],
      ],
    }),
  ),
  text(`Together up to ${durationOf(minutesOf(steps) * 60)}. Nothing is changed on the platform.`),
];

export const minutesOf = (steps: readonly Step[]): number =>
  steps.reduce((sum, { minutes }) => sum + minutes, 0);

const tones: Record<StepReport['is'], Tone> = {
  'as-expected': 'good',
  different: 'bad',
  failed: 'bad',
  'not-allowed': 'todo',
  'not-here': 'quiet',
};

export const triedText = ({ id, is, saw, expected }: StepReport): string =>
  is === 'different'
    ? `${id}: different. Expected: ${expected}. Seen: ${saw}`
    : `${id}: ${is.replace('-', ' ')}. ${saw}`;

export const doctorView = (
  { steps, left, isAws, run }: DoctorReport,
  { wanted, file }: { wanted: number; file: string | undefined },
): View => [
  ...steps.map((tried) => ({ tone: tones[tried.is], text: triedText(tried) })),
  steps.length < wanted && {
    tone: 'bad',
    text: `It was stopped: ${countOf(wanted - steps.length, 'step was', 'steps were')} not tried.`,
  },
  left.length > 0 && {
    tone: 'bad',
    text: `Some things could not be removed. Remove by hand what is named with ${run}:`,
  },
  left.length > 0 && list(left),
  isAws && file !== undefined && { tone: 'todo', text: `Send ${file} to the maintainers.` },
];
