import { join } from 'node:path';
import type { Mode } from './comparison.ts';
import { cellsIn, readTable } from './table.ts';
import { UnusableSnapshot } from './unusable.ts';
import type { Files } from './zip.ts';

/** The files of OneRoster that are read; all others may be there. */
export const fileNames = ['classes', 'users', 'lineItems', 'enrollments', 'results'] as const;
export type FileName = (typeof fileNames)[number];
export type Modes = Record<FileName, Mode>;

/** Which files there are, and of what kind. @throws UnusableSnapshot where the zip is not what its manifest says. */
export const modesOf = async (files: Files, folder: string): Promise<Modes> => {
  if (!files.names.includes('manifest.csv'))
    throw new UnusableSnapshot(
      'The zip holds no manifest.csv: the files of OneRoster must lie in it directly, not in a folder',
    );
  const properties = await propertiesIn(files, folder);
  const version = properties.get('oneroster.version') ?? '';
  if (!/^1\.[12](\.|$)/.test(version))
    throw new UnusableSnapshot('manifest.csv does not say oneroster.version 1.2 or 1.1: no other is known');
  const modes = Object.fromEntries(
    fileNames.map((name) => {
      const mode = properties.get(`file.${name.toLowerCase()}`) ?? 'absent';
      if (mode !== 'bulk' && mode !== 'delta' && mode !== 'absent')
        throw new UnusableSnapshot(`manifest.csv says of file.${name} neither bulk, nor delta, nor absent`);
      if ((mode !== 'absent') !== files.names.includes(`${name}.csv`))
        throw new UnusableSnapshot(
          mode === 'absent'
            ? `manifest.csv says that ${name}.csv is absent, and the zip holds it`
            : `manifest.csv says that ${name}.csv is there (${mode}), and the zip does not hold it`,
        );
      return [name, mode];
    }),
  ) as Modes;
  if (Object.values(modes).every((mode) => mode === 'absent'))
    throw new UnusableSnapshot('manifest.csv names none of the files that are read');
  return modes;
};

const propertiesIn = async (files: Files, folder: string): Promise<Map<string, string>> => {
  const table = await readTable(files.open('manifest.csv'), join(folder, 'manifest.csv'), {
    ...{ file: 'manifest.csv', required: ['propertyName', 'value'] },
  });
  if (table.rows > maxProperties)
    throw new UnusableSnapshot(`manifest.csv has more than ${maxProperties} properties`);
  const [name, value] = [table.at('propertyName'), table.at('value')];
  const properties = new Map<string, string>();
  for (const cells of await cellsIn(table)) {
    const property = (cells[name] ?? '').trim().toLowerCase();
    if (properties.has(property)) throw new UnusableSnapshot('manifest.csv has a property twice');
    properties.set(property, (cells[value] ?? '').trim());
  }
  return properties;
};

const maxProperties = 1_000;
