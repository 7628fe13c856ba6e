import { needsDecision } from '../../failure.ts';
import { type LetterKind, replayedOften } from '../reading/letter.ts';
import type { Selected, Selection } from '../reading/selection.ts';
import type { ReadSummary } from '../reading/session.ts';
import type { Preflight } from './preflight.ts';

/** What a replay will do, before it does anything. */
export type Plan = Required<ReadSummary> & {
  /** When the letters were counted: none that came later is touched. */
  at: string;
  matching: number;
  send: PlannedGroup[];
  /** They cannot succeed yet: why, and what to do. */
  notYet: (PlannedGroup & { why: string; todo: string })[];
  /** Not sent: they may do harm, so a person must look at the platform first. */
  uncertain: PlannedGroup[];
  /** They come from no queue of this deployment, so there is none to send them to. */
  unknownSource: number;
  /** Of those to send, how many were replayed five times or more. */
  replayedOften: number;
};

export type PlannedGroup = { function: string; kind: LetterKind; error: string; letters: number };

export type PlanOptions = {
  preflight: Preflight;
  includeUncertain: boolean;
};

/** Decides on each letter; answers the plan and the letters to send. */
export const planReplay = (
  selection: Selection,
  { preflight, includeUncertain }: PlanOptions,
): { plan: Plan; toSend: Selected[] } => {
  const toSend: Selected[] = [];
  const uncertain: Selected[] = [];
  const notYet: { letter: Selected; why: string; todo: string }[] = [];
  let unknownSource = 0;
  for (const letter of selection.letters) {
    if (letter.queueUrl === undefined) {
      unknownSource += 1;
      continue;
    }
    const blocked = preflight(letter);
    if (needsDecision(letter.kind) && !includeUncertain) uncertain.push(letter);
    else if (blocked) notYet.push({ letter, ...blocked });
    else toSend.push(letter);
  }
  const plan = {
    at: new Date().toISOString(),
    matching: selection.letters.length,
    ...selection.summary,
    send: grouped(toSend),
    notYet: [...Map.groupBy(notYet, ({ why, todo }) => `${why}\n${todo}`).values()].flatMap((each) =>
      grouped(each.map(({ letter }) => letter)).map((group) => ({
        ...group,
        why: each[0]?.why ?? '',
        todo: each[0]?.todo ?? '',
      })),
    ),
    uncertain: grouped(uncertain),
    unknownSource,
    replayedOften: toSend.filter(({ replays }) => replays >= replayedOften).length,
  };
  return { plan, toSend };
};

const grouped = (letters: Selected[]): PlannedGroup[] =>
  [...Map.groupBy(letters, ({ group }) => group)]
    .map(([{ function: name, kind, error }, each]) => ({ function: name, kind, error, letters: each.length }))
    .sort((one, other) => other.letters - one.letters);
