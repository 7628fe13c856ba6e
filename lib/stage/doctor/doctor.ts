import { randomUUID } from 'node:crypto';
import { awsCallOf, errorName, unlessError } from '../../runtime/aws/error.ts';
import { UsageError, whyNot } from '../command-errors.ts';
import { unknownName } from '../nearest.ts';
import { hasOwnEndpoint, type Target } from '../target.ts';
import { ownVersion, versionText } from '../version.ts';
import { deployedFunction } from './functions.ts';
import type { PausedBefore } from './pause.ts';
import { type DoctorReport, masked, type StepReport } from './report.ts';
import { createStepSandbox, type StepSandbox } from './sandbox.ts';
import { notHere, type Step } from './step.ts';
import { steps as allSteps } from './steps.ts';

/** The steps of these names, in their order; without names, all. @throws UsageError if there is no such step. */
export const stepsNamed = (names: readonly string[]): readonly Step[] => {
  const known = allSteps.map(({ id }) => id);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(unknownName('step', unknown, known));
  return allSteps.filter(({ id }) => names.length === 0 || names.includes(id));
};

type Options = {
  steps: readonly Step[];
  signal: AbortSignal;
  /** Of the report of an earlier run. */
  before?: PausedBefore | undefined;
  /** False: emulators answer, which shows nothing. */
  isAws: boolean;
  onStep?(step: Step): void;
  /** For tests. */
  corner?: Pick<Parameters<typeof createStepSandbox>[0], 'secondMs' | 'lambda' | 'cloudWatch'>;
};

export const newRun = (): string => randomUUID().slice(0, 8);

/** The accounts of emulators. */
const played = /^arn:[\w-]+:\w+::(?:0{12}|123456789012):/;

/** Whether AWS answers, and no emulator: with a store of its own, a target does not know its caller. */
export const isOnAws = async ({ caller }: Target): Promise<boolean> =>
  caller !== undefined && !hasOwnEndpoint() && !played.test(await caller());

/** The beginning of the names of all that a run makes. */
export const ownName = ({ prefix }: Target, run: string): string => `${prefix}doctor-${run}`;

/** The steps refuse a caller who lacks the rights. @throws RefusedError if there is no such stage. */
export const checkStage = async (target: Target): Promise<void> => {
  await unlessError(/AccessDenied/, () => target.deadLetterQueueUrl());
};

/** Tries the steps one after the other, and removes what each has made. Ctrl-C ends the step at work and leaves out the others. */
export const runDoctor = async (
  target: Target,
  run: string,
  { steps, signal, before, isAws, onStep, corner: settings }: Options,
): Promise<DoctorReport> => {
  const startedAt = new Date().toISOString();
  const deployed = isAws ? await target.deployed?.() : undefined;
  const [tried, left]: [StepReport[], string[]] = [[], []];
  let remembered: PausedBefore | undefined;
  for (const step of steps) {
    if (signal.aborted) break;
    onStep?.(step);
    const startedMs = performance.now();
    const remember = (paused: PausedBefore): void => {
      remembered = paused;
    };
    // SQS takes no name again within a minute of its removal: no two steps have one in common.
    const name = `${ownName(target, run)}-${step.id}`;
    const corner = createStepSandbox({ target, name, signal, before, remember, ...settings });
    const outcome = isAws ? await tryStep(step, corner, signal) : elsewhere;
    left.push(...(await corner.cleanUp()).map(masked));
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    const { id, expected } = step;
    tried.push({ id, ...outcome, expected, saw: masked(outcome.saw), seconds });
  }
  const region = await (await target.sqs()).config.region();
  return {
    doctor: 1,
    run,
    stage: target.prefix.replace(/^sis-relay-|-$/g, ''),
    isAws,
    ...(isAws && { region }),
    version: versionText(ownVersion()),
    ...(deployed?.version && { deployed: versionText({ ...deployed, version: deployed.version }) }),
    startedAt,
    endedAt: new Date().toISOString(),
    steps: tried,
    left,
    ...(remembered && { pausedBefore: remembered }),
  };
};

const elsewhere = {
  is: 'not-here',
  saw: 'Emulators answer here: what they do says nothing about AWS.',
} as const;

const tryStep = async (
  step: Step,
  corner: StepSandbox,
  signal: AbortSignal,
): Promise<Pick<StepReport, 'is' | 'saw'>> => {
  try {
    if (step.needs !== undefined && (await deployedFunction(corner, step.needs)) === undefined)
      return notHere(`${step.needs} is not deployed.`);
    return await step.try(corner);
  } catch (error) {
    if (signal.aborted) return { is: 'failed', saw: 'It was stopped.' };
    if (!/AccessDenied|NotAuthorized|Unauthorized|Forbidden|AuthorizationError/i.test(errorName(error)))
      return { is: 'failed', saw: whyNot(error) };
    // AWS says what it misses, which may be another action than the one that was called, such as iam:PassRole.
    const text = error instanceof Error ? error.message : '';
    const [, action, resource] = /to perform: ([\w-]+:\w+)(?: on resource: (\S+))?/.exec(text) ?? [];
    const call = awsCallOf(error);
    return {
      is: 'not-allowed',
      saw: `not allowed: ${action ?? call?.action ?? 'an action that AWS does not name'}, ${resource ?? call?.resource ?? 'a resource that it does not name'}`,
    };
  }
};
