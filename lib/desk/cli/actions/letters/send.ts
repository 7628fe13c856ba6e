import { RefusedError, UsageError } from '../../../../stage/command-errors.ts';
import { changed, changedInEditor } from '../../../messages/edit/change.ts';
import { findLetter } from '../../../messages/letters/list.ts';
import type { ReplayOptions } from '../../../messages/replay/replay.ts';
import type { RunOptions } from '../../../messages/replay/run.ts';
import * as verbs from '../../../operator-actions/send.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Terminal } from '../../print/terminal.ts';
import { changeFrom, removalOf } from './set-option.ts';

/** The options for sending letters, as typed. */
type RunCliOptions = Omit<RunOptions, 'waitSeconds'> & { canaryWait: number; continueUndecided?: boolean };

const runOptionsOf = ({ canary, canaryWait, rate, stopAfter, continueUndecided }: RunCliOptions) => ({
  canary,
  waitSeconds: canaryWait,
  rate,
  stopAfter,
  isUndecidedContinued: continueUndecided,
});

type ReplayCliOptions = RunCliOptions &
  Pick<ReplayOptions, 'limit' | 'dryRun' | 'includeUncertain' | 'probe' | 'reason'>;

export const replay = async (context: CommandContext, given: ReplayCliOptions): Promise<void> => {
  const { limit, dryRun = false, includeUncertain = false, probe, reason } = given;
  const { filter } = context;
  // Also for a plan alone: it tries the service's credential, and a lacking right would look like a refused one.
  await context.checkAudit();
  const { plan, ended, counts } = await verbs.replay(context, {
    ...runOptionsOf(given),
    filter,
    limit,
    dryRun,
    includeUncertain,
    probe,
    reason,
  });
  const { sent = 0, through, gone, setAside = 0, notTried = 0 } = counts ?? {};
  const left = (counts?.failed.length ?? 0) + (counts?.undeleted.length ?? 0) + setAside + notTried;
  const isClean = sent > 0 && through === sent && gone === 0 && left === 0;
  context.finish((ended === 'planned' && plan.send.length > 0) || (ended === 'done' && isClean));
};

type EditCliOptions = Omit<RunCliOptions, 'canaryWait'> & {
  wait: number;
  reason: string;
  includeUncertain: boolean;
  reveal: boolean;
  set?: string[];
  unset?: string[];
  sameValue: boolean;
  limit?: number;
};

export const edit = async (
  context: CommandContext,
  id: string | undefined,
  {
    set = [],
    unset = [],
    reason,
    includeUncertain,
    reveal,
    sameValue,
    limit,
    wait,
    ...given
  }: EditCliOptions,
): Promise<void> => {
  const { target, terminal, signal } = context;
  const changes = [...set.map(changeFrom), ...unset.map(removalOf)];
  if (id === undefined && Object.keys(context.filter).length === 0)
    throw new UsageError('Which letters? Pass the id of one, or a filter such as --kind invalid.');
  const { edit: opened } = terminal;
  if (changes.length === 0 && opened === undefined)
    throw new RefusedError(
      'Nothing was changed: there is no terminal to open an editor on. Pass --set, as in --set data.grade.points=7, or --unset.',
    );
  await context.checkAudit();
  const { ended, counts } = await verbs.edit(context, {
    filter: id === undefined ? context.filter : { id: [(await findLetter(target, id, signal)).id] },
    ...runOptionsOf({ ...given, canaryWait: wait }),
    reason,
    includeUncertain,
    reveal,
    limit,
    isOpened: changes.length === 0,
    isMerging: sameValue,
    change: async (body, problem) => {
      if (opened && changes.length === 0) return inEditor(body, problem, { ...terminal, edit: opened });
      if (problem !== undefined) throw new RefusedError(problem);
      return changed(body, changes);
    },
  });
  const { sent = 0, cameBack = 0, setAside = 0, notTried = 0 } = counts ?? {};
  // Messages that wait, or whose outcome is unknown, were sent all the same.
  context.finish(ended === 'done' && sent > 0 && cameBack + setAside + notTried === 0);
};

/** Opens the message in the editor, and again with the typed text until it is valid. */
const inEditor = async (
  body: string,
  problem: string | undefined,
  terminal: Pick<Terminal, 'err' | 'ask' | 'signal'> & { edit: NonNullable<Terminal['edit']> },
): Promise<string> => {
  if (problem !== undefined) {
    terminal.err(`${problem}\n`);
    const answer = await terminal.ask('Open it again? [Y/n] ');
    if (answer === undefined || /^n/i.test(answer.trim()) || terminal.signal.aborted)
      throw new RefusedError('Nothing was changed.');
  }
  return changedInEditor(body, terminal.edit);
};
