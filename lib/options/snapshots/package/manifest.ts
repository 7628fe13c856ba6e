import { join } from 'node:path';
import { delimiterIn } from '../../../runtime/files/tables/delimiter.ts';
import { cellsIn, readTable } from '../../../runtime/files/tables/table.ts';
import type { Mode } from '../compare/comparison.ts';
import { isTable } from '../feed.ts';
import { UnusableSnapshot } from '../unusable.ts';
import { formatOf, isOfOneRoster } from './formats.ts';
import type { Files } from './zip.ts';

/** The files of OneRoster whose rows are compared. */
export const fileNames = ['classes', 'users', 'lineItems', 'enrollments', 'results'] as const;
export type FileName = (typeof fileNames)[number];
/** Files that are read only if a name or a role needs them. A package may have others. */
const furtherNames = ['courses', 'academicSessions', 'orgs', 'roles'] as const;
export type FurtherName = (typeof furtherNames)[number];
export type Modes = Record<FileName | FurtherName, Mode>;

export type Manifest = {
  /** The version of OneRoster; undefined if the package has none. */
  version: string | undefined;
  modes: Modes;
};

/** Which files there are, and of what kind. @throws UnusableSnapshot if the zip does not match its manifest. */
export const manifestOf = async (files: Files, folder: string): Promise<Manifest> => {
  const properties = files.has('manifest.csv')
    ? await propertiesIn(files, folder)
    : new Map<string, string>();
  const version = properties.get('oneroster.version') || undefined;
  if (version !== undefined && !/^1\.[012](\.|$)/.test(version))
    throw new UnusableSnapshot(
      'manifest.csv must have the oneroster.version 1.0, 1.1 or 1.2. sis-relay reads no other version',
    );
  const isDelta = [...properties.values()].some((value) => value.toLowerCase() === 'delta');
  const main = fileNames.map((name) => [name, modeOf(name, { files, properties, isDelta })] as const);
  if (main.every(([, mode]) => mode === 'absent'))
    throw new UnusableSnapshot(
      (await otherFormatIn(files)) ??
        `The zip has none of ${fileNames.map((name) => `${name}.csv`).join(', ')}. Put these files at the top of the zip, or in one folder. If your system writes other CSV files, import each by itself, with a mapping`,
    );
  if (version === undefined) await refuseOthers(files, main);
  const further = furtherNames.map((name) => {
    const isHere = files.has(`${name}.csv`);
    const isPart = properties.get(`file.${name.toLowerCase()}`)?.toLowerCase() === 'delta';
    return [name, !isHere ? 'absent' : isPart ? 'delta' : 'bulk'] as const;
  });
  return { version, modes: Object.fromEntries([...main, ...further]) as Modes };
};

/** The cells of the first row of a file. */
export const firstRowOf = async (files: Files, name: string): Promise<string[]> => {
  for await (const piece of files.open(name)) {
    const [header = ''] = piece
      .toString('utf8')
      // Of UTF-16, which is refused later, with its reason.
      .replace(/^\uFEFF/, '')
      .replaceAll('\0', '')
      .split(/[\r\n]/);
    return header.split(delimiterOf(header)).map((cell) => cell.trim().replace(/^"|"$/g, ''));
  }
  return [];
};

const importEach =
  'Import each of its tables about enrollments by itself, with a mapping, which the comparison proposes (`sis-relay snapshots diff`)';

/** Why it cannot be imported, if its tables are of another format that is known. */
const otherFormatIn = async (files: Files): Promise<string | undefined> => {
  for (const name of files.names.filter(isTable)) {
    const format = formatOf(await firstRowOf(files, name));
    if (format !== undefined)
      return `The zip is not OneRoster: ${name} is a table of ${format}. ${importEach}`;
  }
  return undefined;
};

/** Without a manifest, other systems' files may have the names of OneRoster's. */
const refuseOthers = async (files: Files, main: readonly (readonly [FileName, Mode])[]): Promise<void> => {
  const here = main.flatMap(([name, mode]) => (mode === 'absent' ? [] : [`${name}.csv`]));
  const headers = await Promise.all(here.map((name) => firstRowOf(files, name)));
  if (headers.some((columns) => isOfOneRoster(columns) || columns.length === 0)) return;
  throw new UnusableSnapshot(
    (await otherFormatIn(files)) ??
      `The zip is not OneRoster: none of ${here.join(', ')} has ids by the names of that, such as sourcedId. ${importEach}`,
  );
};

type ManifestFacts = { files: Files; properties: ReadonlyMap<string, string>; isDelta: boolean };

const modeOf = (name: FileName, { files, properties, isDelta }: ManifestFacts): Mode => {
  const file = `${name}.csv`;
  const isHere = files.has(file);
  const mode = properties.get(`file.${name.toLowerCase()}`)?.toLowerCase();
  if (mode === undefined || mode === '') {
    if (isHere && isDelta)
      throw new UnusableSnapshot(
        `manifest.csv has a delta. It must then have file.${name}, too, as bulk or delta`,
      );
    return isHere ? 'bulk' : 'absent';
  }
  if (mode !== 'bulk' && mode !== 'delta' && mode !== 'absent')
    throw new UnusableSnapshot(`In manifest.csv, file.${name} must be bulk, delta or absent. Correct it`);
  if ((mode !== 'absent') !== isHere)
    throw new UnusableSnapshot(
      isHere
        ? `In manifest.csv, file.${name} is absent, but the zip has ${file}. Correct one of them`
        : `In manifest.csv, file.${name} is ${mode}, but the zip has no ${file}. Correct one of them`,
    );
  return mode;
};

/** The standard uses commas. A spreadsheet may replace all of them by another character. */
export const delimiterOf = (header: string): string => (header.includes(',') ? ',' : delimiterIn(header));

const propertiesIn = async (files: Files, folder: string): Promise<Map<string, string>> => {
  const table = await readTable(files.open('manifest.csv'), join(folder, 'manifest.csv'), {
    file: 'manifest.csv',
    required: ['propertyName', 'value'],
    delimiterIn: delimiterOf,
  });
  if (table.rows > maxProperties)
    throw new UnusableSnapshot(
      `manifest.csv has more than ${maxProperties} properties. Remove those that OneRoster does not name`,
    );
  const [name, value] = [table.at('propertyName'), table.at('value')];
  const properties = new Map<string, string>();
  for (const cells of await cellsIn(table)) {
    const property = (cells[name] ?? '').trim().toLowerCase();
    if (properties.has(property))
      throw new UnusableSnapshot('manifest.csv has a property twice. Remove one of them');
    properties.set(property, (cells[value] ?? '').trim());
  }
  return properties;
};

const maxProperties = 1_000;
