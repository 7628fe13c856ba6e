import { exportLetters, exportToFile } from '../../../../operate/messages/archive/export.ts';
import { exportedView } from '../../../views/changes.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async (
  context: CommandContext,
  { to: file, reason, limit }: { to: string; reason: string; limit?: number },
): Promise<void> => {
  const isPiped = file === '-';
  const { target, filter, audit, terminal, signal, print, withProgress, finish } = isPiped
    ? context.besideData()
    : context;
  const result = await withProgress('Reading letters', (onProgress) => {
    const options = { filter, reason, limit, signal, onProgress, audit };
    return isPiped
      ? exportLetters(target, { ...options, write: terminal.write })
      : exportToFile(target, { ...options, file });
  });
  print({ ...result, file: result.exported > 0 && !isPiped ? file : undefined }, () =>
    exportedView(result, isPiped ? 'standard output' : file),
  );
  finish(result.exported > 0 && !signal.aborted);
};
