import { awaitFill, startFill } from '../../../operate/reviews/crosswalk/fill.ts';
import { listMoved, showName } from '../../../operate/reviews/crosswalk/names.ts';
import { UsageError } from '../../../operate/stage/command-errors.ts';
import { acceptCode } from '../../verbs/reviews.ts';
import { filledView, movedView, nameView } from '../../views/crosswalk.ts';
import type { CommandContext } from '../command-context.ts';

type Named = { code?: string; userName?: string; orgDefinedId?: string };

const nameIn = ({ code, userName, orgDefinedId }: Named) => {
  if (code !== undefined) return { kind: 'orgUnitCode', name: code } as const;
  if (userName !== undefined) return { kind: 'userName', name: userName } as const;
  if (orgDefinedId !== undefined) return { kind: 'orgDefinedId', name: orgDefinedId } as const;
  throw new UsageError('Which name? Pass --code, --user-name or --org-defined-id.');
};

export const show = async ({ target, print, finish }: CommandContext, options: Named): Promise<void> => {
  const asked = nameIn(options);
  const names = await showName(target, asked);
  print({ names }, () => nameView(names, asked));
  finish(names.length > 0);
};

export const moved = async ({ target, print, finish }: CommandContext): Promise<void> => {
  const listed = await listMoved(target);
  print(listed, () => movedView(listed));
  finish(listed.moved.length > 0);
};

export const accept = async (
  context: CommandContext,
  code: string,
  { reason }: { reason?: string },
): Promise<void> => {
  await context.checkAudit();
  context.finish((await acceptCode(context, { code, reason })) !== undefined);
};

const oneMinuteMs = 60_000;

type GivenFill = { classlists?: boolean; acceptRemovals?: boolean; reason?: string; wait: number };

export const fill = async (
  { target, terminal, audit, signal, print, agreed, finish, checkAudit }: CommandContext,
  { classlists = false, acceptRemovals = false, reason, wait }: GivenFill,
): Promise<void> => {
  await checkAudit();
  if (acceptRemovals && !(await agreed('Remove what the sources lack, however much it is?')))
    return finish(false);
  const id = await startFill(target, { classlists, acceptRemovals, reason, audit });
  terminal.err('The fill has started.\n');
  const filled = await awaitFill(target, id, { signal, patienceMs: wait * oneMinuteMs });
  print({ id, ...(filled ?? { outcome: 'running' }) }, () => filledView(filled));
  finish(filled?.outcome === 'filled');
};
