import { showName } from '../../../../operate/reviews/crosswalk/names.ts';
import { UsageError } from '../../../../operate/stage/command-errors.ts';
import { nameView } from '../../../views/crosswalk.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async ({ target, print, finish }: CommandContext, options: Named): Promise<void> => {
  const asked = nameIn(options);
  const names = await showName(target, asked);
  print({ names }, () => nameView(names, asked));
  finish(names.length > 0);
};

type Named = { code?: string; userName?: string; orgDefinedId?: string };

const nameIn = ({ code, userName, orgDefinedId }: Named) => {
  if (code !== undefined) return { kind: 'orgUnitCode', name: code } as const;
  if (userName !== undefined) return { kind: 'userName', name: userName } as const;
  if (orgDefinedId !== undefined) return { kind: 'orgDefinedId', name: orgDefinedId } as const;
  throw new UsageError('Which name? Pass --code, --user-name or --org-defined-id.');
};
