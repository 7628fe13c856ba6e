import type { CommandContext } from '../../../desk/cli/command-context.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { awaitFill, startFill } from './fill.ts';
import { listMoved, showName } from './names.ts';
import { acceptCode } from './operator-actions.ts';
import { reassignedNamesIn } from './reassigned-names.ts';
import { filledView, movedView, nameView } from './view.ts';

type NameCliOptions = { code?: string; userName?: string; orgDefinedId?: string };

const nameIn = ({ code, userName, orgDefinedId }: NameCliOptions) => {
  if (code !== undefined) return { kind: 'orgUnitCode', name: code } as const;
  if (userName !== undefined) return { kind: 'userName', name: userName } as const;
  if (orgDefinedId !== undefined) return { kind: 'orgDefinedId', name: orgDefinedId } as const;
  throw new UsageError('Which name? Pass --code, --user-name or --org-defined-id.');
};

export const show = async (
  { target, print, finish }: CommandContext,
  options: NameCliOptions,
): Promise<void> => {
  const asked = nameIn(options);
  const names = await showName(target, asked);
  print({ names }, () => nameView(names, asked));
  finish(names.length > 0);
};

export const moved = async ({ target, signal, desks, print, finish }: CommandContext): Promise<void> => {
  const reassigned = await reassignedNamesIn(desks);
  const [listed, held] = await Promise.all([listMoved(target), reassigned?.read(target, signal)]);
  print({ ...listed, ...held?.facts }, () => [...movedView(listed), ...(held?.view ?? [])]);
  finish(listed.moved.length > 0 || (held?.names?.length ?? 0) > 0);
};

type AcceptCliOptions = { all?: boolean; kind?: 'code' | 'user'; reason?: string };

export const accept = async (
  context: CommandContext,
  first: string | undefined,
  more: string[],
  { all = false, kind, reason }: AcceptCliOptions,
): Promise<void> => {
  const given = [first ?? [], more].flat();
  if (all ? given.length > 0 : given.length === 0)
    throw new UsageError('Which ones? Pass the code of an org unit, user names, or --all.');
  await context.checkAudit();
  const [name = ''] = given;
  const isOfUsers = all || given.length > 1 || (await kindOf(context, { name, kind })) === 'user';
  const reassigned = await reassignedNamesIn(context.desks);
  if (isOfUsers && reassigned === undefined) throw new UsageError('One code of an org unit at a time.');
  const accepted = isOfUsers
    ? await reassigned?.accept(context, { names: all ? 'all' : given, reason, command: 'crosswalk accept' })
    : await acceptCode(context, { code: name, reason, reassignedNames: reassigned });
  context.finish(accepted !== undefined);
};

const kindOf = async (
  { target, signal, desks }: CommandContext,
  { name, kind }: { name: string; kind: AcceptCliOptions['kind'] },
): Promise<'code' | 'user'> => {
  if (kind !== undefined) return kind;
  const held = await (await reassignedNamesIn(desks))?.read(target, signal);
  if (!held?.names?.includes(name)) return 'code';
  const { moved } = await listMoved(target);
  if (moved.some(({ code }) => code === name))
    throw new UsageError(`${name} is a code and a user name. Pass --kind code or --kind user.`);
  return 'user';
};

const oneMinuteMs = 60_000;

type FillCliOptions = { classlists?: boolean; acceptRemovals?: boolean; reason?: string; wait: number };

export const fill = async (
  { target, terminal, audit, signal, print, agreed, finish, checkAudit }: CommandContext,
  { classlists = false, acceptRemovals = false, reason, wait }: FillCliOptions,
): Promise<void> => {
  await checkAudit();
  if (
    acceptRemovals &&
    !(await agreed('Remove all names that the sources no longer have, however many they are?'))
  )
    return finish(false);
  const id = await startFill(target, { classlists, acceptRemovals, reason, audit });
  terminal.err('The fill has started.\n');
  const filled = await awaitFill(target, id, { signal, patienceMs: wait * oneMinuteMs });
  print({ id, ...(filled ?? { outcome: 'running' }) }, () => filledView(filled));
  finish(filled?.outcome === 'filled');
};
