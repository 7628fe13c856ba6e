import { fileNames } from './files.ts';
import type { Found, History, Importer, MakeImporter } from './history.ts';

/** What is put in a history and what is sent for it, for who reads it. */
export const watched =
  (makeImporter: MakeImporter, tell: (line: string) => void): MakeImporter =>
  (given): Importer => {
    const importer = makeImporter(given);
    return {
      put: async (exported, options) => {
        tell(
          `${exported.name}${exported.isDelta ? ', a delta' : ''}${options.maxRemovals === 0 ? ', 0 %' : ''}`,
        );
        for (const [file, rows] of exported.rows)
          for (const [index, { cells }] of rows.entries())
            tell(`  ${file} ${index + 2}: ${Object.values(cells).join(' ')}`);
        const done = await importer.put(exported, options);
        const { reasons, message, report, bodies } = done;
        if (message !== undefined) tell(`  it ends: ${message}`);
        for (const reason of reasons ?? [])
          tell(`  asks: ${reason}${options.isApproved ? ' (approved)' : ''}`);
        for (const { file, line, text } of report) tell(`  report: ${file} ${line ?? ''} ${text}`);
        for (const { type, data } of bodies) tell(`  ${type} ${JSON.stringify(data)}`);
        return done;
      },
    };
  };

/** A history that can be kept: `keptHistories` takes it. */
export const textOf = (history: History, { night, put, text }: Found): string =>
  [
    `in night ${night}, after ${put.name} (${fileNames.indexOf(put.name) + 1} of ${fileNames.length}): ${text}`,
    JSON.stringify(history),
  ].join('\n');
