import { needsDecision } from '../../failure.ts';
import type { LetterKind } from '../reading/letter.ts';
import { replayedOften } from '../reading/letter.ts';
import type { Selected, Selection } from '../reading/selection.ts';
import type { Obstacles } from './preflight.ts';

/** What a replay will do, before it does anything. */
export type Plan = {
  /** When the letters were counted: none that came later is touched. */
  at: string;
  matching: number;
  /** Letters of the queue that were looked at, and whether that was all of them. */
  seen: number;
  whole: boolean;
  /** As many match as --limit allows. */
  limitReached: boolean;
  /** About so many were in somebody else's hands. */
  hidden: number;
  /** When the oldest letter that was looked at was sent; undefined: there is none. */
  oldestMs: number | undefined;
  send: PlannedGroup[];
  /** They cannot succeed yet. */
  notYet: (PlannedGroup & { why: string; todo: string })[];
  /** Skipped: sent blindly they may do harm, so that a person must look first. */
  uncertain: PlannedGroup[];
  /** Not ours: nowhere to send them to. */
  foreign: number;
  /** Of those to send, how many were replayed five times or more. */
  replayedOften: number;
};

export type PlannedGroup = { function: string; kind: LetterKind; error: string; letters: number };

export type PlanOptions = {
  obstacles: Obstacles;
  includeUncertain: boolean;
};

/** Decides on each letter; answers the plan and the letters to send. */
export const planReplay = (
  selection: Selection,
  { obstacles, includeUncertain }: PlanOptions,
): { plan: Plan; toSend: Selected[] } => {
  const toSend: Selected[] = [];
  const uncertain: Selected[] = [];
  const notYet: { letter: Selected; why: string; todo: string }[] = [];
  let foreign = 0;
  for (const letter of selection.letters) {
    if (letter.queueUrl === undefined) {
      foreign += 1;
      continue;
    }
    const obstacle = obstacles(letter);
    if (needsDecision(letter.kind) && !includeUncertain) uncertain.push(letter);
    else if (obstacle) notYet.push({ letter, ...obstacle });
    else toSend.push(letter);
  }
  const plan = {
    at: new Date().toISOString(),
    matching: selection.letters.length,
    seen: selection.seen,
    whole: selection.whole,
    limitReached: selection.limitReached === true,
    hidden: selection.hidden,
    oldestMs: selection.oldestMs,
    send: grouped(toSend),
    notYet: [...Map.groupBy(notYet, ({ why, todo }) => `${why}\n${todo}`).values()].flatMap((each) =>
      grouped(each.map(({ letter }) => letter)).map((group) => ({
        ...group,
        why: each[0]?.why ?? '',
        todo: each[0]?.todo ?? '',
      })),
    ),
    uncertain: grouped(uncertain),
    foreign,
    replayedOften: toSend.filter(({ replays }) => replays >= replayedOften).length,
  };
  return { plan, toSend };
};

export const grouped = (letters: Selected[]): PlannedGroup[] =>
  [...Map.groupBy(letters, ({ group }) => group)]
    .map(([group, each]) => ({
      function: group.function,
      kind: group.kind,
      error: group.error,
      letters: each.length,
    }))
    .sort((one, other) => other.letters - one.letters);
