import type { Export } from './files.ts';
import type { Found, History, Imported, Importer, MakeImporter } from './history.ts';

/** What is put in a history and what is sent for it, for who reads it. */
export const watched =
  (makeImporter: MakeImporter, tell: (line: string) => void): MakeImporter =>
  (given): Importer => {
    const importer = makeImporter(given);
    return {
      put: async (exported, options) => {
        for (const line of linesOfExport(exported)) tell(line);
        const done = await importer.put(exported, options);
        for (const line of linesOfImport(done)) tell(line);
        return done;
      },
    };
  };

const linesOfExport = ({ name, isDelta, rows }: Export): string[] => [
  `${name}${isDelta ? ', a delta' : ''}`,
  ...[...rows].flatMap(([file, all]) =>
    all.map(({ cells }, index) => `  ${file} ${index + 2}: ${Object.values(cells).join(' ')}`),
  ),
];

const linesOfImport = ({ reasons = [], message, report, bodies }: Imported): string[] => [
  ...(message === undefined ? [] : [`  it ended: ${message}`]),
  ...reasons.map((reason) => `  asks: ${reason}`),
  ...report.map(({ text }) => `  report: ${text}`),
  ...bodies.map(({ type, data }) => `  ${type} ${JSON.stringify(data)}`),
];

/** A history as it can be kept, after what is wrong in it. */
export const textOf = (history: History, { night, put, text }: Found): string =>
  [`in night ${night}, after ${put.name}: ${text}`, JSON.stringify(history)].join('\n');
