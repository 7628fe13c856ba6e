import { showLetter } from '../../../../operate/messages/letters/show.ts';
import { letterView } from '../../../views/letters.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async (
  { target, audit, signal, print, withProgress }: CommandContext,
  id: string,
  { reveal = false, reason }: { reveal?: boolean; reason?: string },
): Promise<void> => {
  const details = await withProgress('Reading letters', (onProgress) =>
    showLetter(target, { id, reveal, reason, audit, signal, onProgress }),
  );
  print(details, () => letterView(details));
};
