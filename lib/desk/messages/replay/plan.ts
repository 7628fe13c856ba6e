import { needsDecision, replayedOften } from '../../../message/failure-kinds.ts';
import { causeIn, type Group, type GroupCause, grantsIn } from '../letters/groups.ts';
import type { SelectedLetter, Selection } from '../letters/list.ts';
import type { Preflight } from './preflight.ts';

export type Plan = Pick<Selection, 'listed' | 'queued' | 'limitReached'> & {
  /** When the lists were read: no letter that came later is touched. */
  at: string;
  matching: number;
  /** When the oldest of them was written; undefined: there is none. */
  oldestMs: number | undefined;
  send: PlannedGroup[];
  /** Letters that cannot succeed yet: why, and what to do. */
  notYet: (PlannedGroup & { why: string; todo: string })[];
  /** Not sent: they may do harm, so a person must look at the platform first. */
  uncertain: PlannedGroup[];
  /** Not sent: whether they can succeed was not looked at, as they are too many. */
  notChecked: PlannedGroup[];
  /** Letters that come from no queue of this deployment, so there is none to send them to. */
  unknownSource: number;
  /** Letters to send that were replayed five times or more. */
  replayedOften: number;
  /** Letters of `notChecked`. */
  unchecked: number;
};

export type PlannedGroup = GroupCause & Pick<Group, 'letters' | 'remedy' | 'grants'>;

/** The functions that the plan sends to. */
export const functionsIn = ({ send }: Pick<Plan, 'send'>): string[] => [
  ...new Set(send.flatMap(({ function: name }) => name || [])),
];

export type PlanOptions = {
  preflight: Preflight;
  includeUncertain: boolean;
};

/** Decides on each letter. Returns the plan and the letters to send. */
export const planReplay = (
  selection: Selection,
  { preflight, includeUncertain }: PlanOptions,
): { plan: Plan; toSend: SelectedLetter[] } => {
  const toSend: SelectedLetter[] = [];
  const uncertain: SelectedLetter[] = [];
  const notChecked: SelectedLetter[] = [];
  const notYet: { letter: SelectedLetter; why: string; todo: string }[] = [];
  let unknownSource = 0;
  for (const letter of selection.letters) {
    if (letter.record.kind === 'unknown-source') {
      unknownSource += 1;
      continue;
    }
    const blocked = preflight(letter);
    if (needsDecision(letter.record.kind) && !includeUncertain) uncertain.push(letter);
    else if (blocked === 'unchecked') notChecked.push(letter);
    else if (blocked) notYet.push({ letter, ...blocked });
    else toSend.push(letter);
  }
  const plan = {
    at: new Date().toISOString(),
    matching: selection.letters.length,
    listed: selection.listed,
    queued: selection.queued,
    limitReached: selection.limitReached,
    oldestMs: selection.letters[0]?.record.atMs,
    send: grouped(toSend),
    notYet: [...Map.groupBy(notYet, ({ why, todo }) => `${why}\n${todo}`).values()].flatMap((each) =>
      grouped(each.map(({ letter }) => letter)).map((group) => ({
        ...group,
        why: each[0]?.why ?? '',
        todo: each[0]?.todo ?? '',
      })),
    ),
    uncertain: grouped(uncertain),
    notChecked: grouped(notChecked),
    unknownSource,
    replayedOften: toSend.filter(({ record }) => record.replays >= replayedOften).length,
    unchecked: notChecked.length,
  };
  return { plan, toSend };
};

const grouped = (letters: SelectedLetter[]): PlannedGroup[] =>
  [...Map.groupBy(letters, ({ group }) => group)]
    .map(([group, each]) => ({
      ...causeIn(group),
      remedy: group.remedy,
      grants: grantsIn(each.map(({ record }) => record)),
      letters: each.length,
    }))
    .sort((one, other) => other.letters - one.letters);
