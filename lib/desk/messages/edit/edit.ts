import { needsDecision, type UndecidedKind } from '../../../message/failure-kinds.ts';
import { problemOf } from '../../../message/json.ts';
import { draftOf, FileNotice } from '../../../message/message.ts';
import { failureOf } from '../../../platform/client/failure-of.ts';
import { type Audit, archive } from '../../../stage/audit.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import { integrationNamed } from '../../../stage/integrations.ts';
import type { Target } from '../../../stage/target.ts';
import type { Filter } from '../letters/filter.ts';
import { goneBecause, withLetters } from '../letters/leased-letters.ts';
import type { Letter } from '../letters/letter.ts';
import { letterLine } from '../letters/letter-line.ts';
import { type SelectedLetter, selectLetters } from '../letters/list.ts';
import type { ReadOptions } from '../letters/session.ts';
import { type ReplayCounts, ReplayRun, type RunHooks, type RunOptions } from '../replay/run.ts';
import { type Difference, differences } from './change.ts';

export type EditOptions = RunOptions &
  RunHooks &
  ReadOptions & {
    filter: Filter;
    limit?: number | undefined;
    audit: Audit;
    reason: string;
    /** Includes letters that a person must decide on. */
    includeUncertain: boolean;
    /** Shows personal data in the difference. */
    reveal: boolean;
    /** The whole message is shown to edit it, so only one letter can be selected. */
    isOpened: boolean;
    /** Returns the new body. For a single letter it is called again with the problem until the body is valid; it throws to give up. */
    change(body: string, problem: string | undefined): Promise<string>;
    /** `ids`: of the letters that would be sent. */
    confirm(plan: EditPlan, ids: string[]): Promise<boolean>;
  };

export type EditPlan = {
  /** Letters that are changed and would be sent. */
  letters: number;
  /** The functions to whose queues they would be sent. */
  functions: string[];
  /** The difference of the first letter. */
  difference: Difference[];
  /** In how many letters each field differs. */
  fields: Record<string, number>;
  /** Fields of which fewer different values are left: what was each letter's own may be lost. */
  merged: MergeResult[];
  /** Letters that the change leaves as they are. */
  unchanged: number;
  /** Letters whose new message their function would not accept. */
  refused: { id: string; problem: string }[];
  /** Letters that have left the queue, or that somebody else has leased. */
  gone: number;
};

export type MergeResult = {
  field: string;
  /** How many different values the letters hold, of which no value is one. */
  values: number;
  /** How many are left. */
  into: number;
};

export type EditResult = {
  plan: EditPlan;
  /** `declined`: nothing was changed. */
  ended: 'declined' | 'done' | 'stopped';
  stoppedBecause?: string | undefined;
  counts?: ReplayCounts | undefined;
  /** Addresses of the archived originals, by letter. */
  originals: Record<string, string>;
  backLater?: number | undefined;
};

type Edit = { before: string; body: string };

/**
 * Sends the corrected messages of letters to their queues. Each original is archived first, and its message names the archive. While
 * the difference is shown or an editor is open, the letters stay visible in the queue.
 */
export const editLetters = async (target: Target, options: EditOptions): Promise<EditResult> => {
  const { audit, reason, signal, filter } = options;
  const { letters } = await selectLetters(target, options, signal);
  if (letters.length === 0) throw new RefusedError('No letter matches, so there is nothing to edit.');
  if (options.isOpened && letters.length > 1)
    throw new RefusedError(
      `${letters.length} letters match. Pass --set or --unset to edit them all, or --id to choose one.`,
      { inBrowser: `${letters.length} letters match. Choose one.` },
    );
  const undecided = letters.filter(({ record }) => needsDecision(record.kind));
  const kind = undecided[0]?.record.kind;
  if (needsDecision(kind) && !options.includeUncertain)
    throw undecidedError(kind, letters.length === 1 ? undefined : amongMany(undecided, letters.length));

  const revealed: Record<string, number> =
    options.reveal || options.isOpened ? { revealed: letters.length } : {};
  const ids = letters.map(({ id }) => id);
  const begin = () =>
    audit.begin({
      command: 'letters edit',
      filter,
      reason,
      letters: ids,
      counts: { planned: letters.length, ...revealed },
    });
  // Revealing is recorded before it happens. If nothing is revealed, a declined change leaves no record.
  let begun = Object.keys(revealed).length > 0 ? await begin() : undefined;
  let counts: Record<string, number> = {};
  const originals: EditResult['originals'] = {};
  try {
    const edits = new Map<string, Edit>();
    const plan = await planEdits(target, { options, letters, edits });
    if (plan.letters === 0)
      throw new RefusedError(
        plan.refused[0] === undefined
          ? nothingChanged(plan)
          : `Nothing was sent. ${plan.refused[0].problem}${plan.refused.length > 1 ? `; ${plan.refused.length} letters have the same problem.` : ''}`,
      );
    if (!(await options.confirm(plan, [...edits.keys()]))) return { plan, ended: 'declined', originals };
    begun ??= await begin();

    const toSend = letters.filter(({ id }) => edits.has(id));
    const name = originalsName(begun.id);
    const prepare = async (letter: Letter) => {
      const edit = edits.get(letter.id);
      if (edit === undefined || edit.before !== letter.body)
        return { problem: 'it was changed in the meantime' };
      const original = await archive(target, `${name}-${letter.id}.jsonl`, letterLine(letter));
      originals[letter.id] = original;
      return { letter: { ...letter, body: edit.body }, sending: { why: reason, original } };
    };
    const result = await withLetters(target, { signal, letters: toSend }, async (inHand) => {
      const run = new ReplayRun({ inHand, toSend, options, hooks: options, prepare });
      try {
        return { stoppedBecause: await run.perform(), counts: run.counts() };
      } finally {
        const { sent, through, cameBack } = run.counts();
        counts = { sent, through, cameBack };
      }
    });
    return { plan, ended: result.stoppedBecause === undefined ? 'done' : 'stopped', originals, ...result };
  } finally {
    const sent = Object.keys(originals);
    await begun?.end({ sent: 0, ...counts, ...revealed }, sent.length > 0 ? sent : ids);
  }
};

const nothingChanged = ({ gone }: EditPlan): string =>
  gone > 0
    ? `Nothing was changed: ${goneBecause(0)}.`
    : 'Nothing was changed, so nothing was sent. To send a letter unchanged, replay it.';

const maxNamed = 10;

const amongMany = (undecided: SelectedLetter[], of: number): string => {
  const ids = undecided.slice(0, maxNamed).map(({ id }) => id.slice(0, 8));
  const more = undecided.length > maxNamed ? ` and ${undecided.length - maxNamed} more` : '';
  return `Nothing was changed: ${undecided.length} of the ${of} letters ${undecided.length === 1 ? 'needs' : 'need'} your decision (${ids.join(', ')}${more}).`;
};

const undecidedBecause: Record<UndecidedKind, string> = {
  uncertain:
    'It is not known whether this was done, and doing it twice does harm. Look for it on the platform (`sis-relay letters verify`). If it was done, discard it. If it was not',
  outdated:
    'Something newer may have been done after this message. Check the platform. If something newer is there, discard the letter. If not',
};

/**
 * The ledger assumes that an operator who sends such a message again has looked at the platform. `among`: which letters these are of
 * several.
 */
const undecidedError = (kind: UndecidedKind, among?: string): RefusedError => {
  const others = among === undefined ? '' : `${among} To edit only the others, filter by kind. `;
  const why = `${others}${undecidedBecause[kind]}`;
  return new RefusedError(`${why}, pass --include-uncertain to send it.`, {
    inBrowser: `${why}, tick that you have checked what the platform holds.`,
  });
};

/** The beginning of the names of one command's originals, with the id of its entry in the audit log: the console lists them as one. */
const originalsName = (id: string): string => {
  const [day = '', time = ''] = new Date().toISOString().split('T');
  return `edited/${day}/${time.slice(0, 8).replaceAll(':', '')}-${id}`;
};

type EditPlanOptions = { options: EditOptions; letters: SelectedLetter[]; edits: Map<string, Edit> };

/** Reads the letters and gives them back; makes the new body of each. */
const planEdits = async (target: Target, { options, letters, edits }: EditPlanOptions): Promise<EditPlan> => {
  const { signal, onProgress, limit: _, ...rest } = options;
  const isOnly = letters.length === 1;
  const plan: EditPlan = {
    letters: 0,
    functions: [],
    difference: [],
    fields: {},
    merged: [],
    unchanged: 0,
    refused: [],
    gone: 0,
  };
  const values = new Map<string, Values>();
  let only: Letter | undefined;
  const editOne = async (letter: Letter): Promise<void> => {
    const made = await validBody(letter, rest, { again: isOnly });
    if ('problem' in made) {
      plan.refused.push({ id: letter.id, problem: made.problem });
      return;
    }
    const difference = differences(letter.body, made.body, options);
    if (difference.length === 0) plan.unchanged += 1;
    else {
      if (plan.letters === 0) plan.difference = difference;
      plan.letters += 1;
      if (!plan.functions.includes(letter.function)) plan.functions.push(letter.function);
      for (const { field } of difference) plan.fields[field] = (plan.fields[field] ?? 0) + 1;
      // Masked values look equal.
      const whole = differences(letter.body, made.body, { ...options, reveal: true });
      for (const [at, { before, after }] of whole.entries())
        addValues(values, difference[at]?.field ?? '', { before, after });
      edits.set(letter.id, { before: letter.body, body: made.body });
    }
  };
  await withLetters(target, { signal, onProgress, letters }, async (inHand) => {
    plan.gone = inHand.gone.length;
    for (const each of inHand.letters) {
      const letter = await inHand.read(each);
      if (isOnly) only = letter;
      else await editOne(letter);
    }
    return {};
  });
  // An editor may stay open for long; the letter stays in the queue meanwhile.
  if (only) await editOne(only);
  plan.merged = mergedOf(values);
  return plan;
};

type Values = { before: Set<string>; after: Set<string> };

/** What is removed leaves no value that could be wrong. */
const addValues = (
  values: Map<string, Values>,
  field: string,
  { before, after }: Pick<Difference, 'before' | 'after'>,
): void => {
  if (after === undefined) return;
  const known = values.get(field) ?? { before: new Set(), after: new Set() };
  known.before.add(JSON.stringify(before) ?? '');
  known.after.add(JSON.stringify(after));
  values.set(field, known);
};

const mergedOf = (values: ReadonlyMap<string, Values>): MergeResult[] =>
  [...values].flatMap(([field, { before, after }]) =>
    before.size > after.size ? { field, values: before.size, into: after.size } : [],
  );

type EditedBody = { body: string } | { problem: string };

/** A new body that its function would accept, or the problem. */
const validBody = async (
  letter: Letter,
  { change, includeUncertain }: Pick<EditOptions, 'change' | 'includeUncertain'>,
  { again }: { again: boolean },
): Promise<EditedBody> => {
  // For an unreadable letter the lists have no kind.
  const kind = letter.failure?.kind;
  if (needsDecision(kind) && !includeUncertain)
    return {
      problem: `It is ${kind}: check what the platform holds. Then discard it, or edit it with uncertain letters included (\`sis-relay letters edit --include-uncertain\`).`,
    };
  if (letter.missing !== undefined)
    return { problem: `There is nothing to edit: ${letter.error}. ${letter.remedy}` };
  const integration = await integrationNamed(letter.function);
  if (letter.queueUrl === undefined || integration === undefined)
    return {
      problem:
        'This letter does not belong to a function of this deployment. It can only be exported or discarded.',
    };
  let { body } = letter;
  let problem: string | undefined;
  do {
    try {
      body = await change(body, problem);
      draftOf(body, integration, Date.now());
      return { body };
    } catch (error) {
      if (error instanceof RefusedError) return { problem: error.message };
      if (error instanceof FileNotice) return { body };
      const flaw = problemOf(body);
      problem = flaw === undefined ? failureOf(error).message : `The message ${flaw}.`;
    }
  } while (again);
  return { problem };
};
