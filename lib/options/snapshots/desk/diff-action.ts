import { createCrosswalkTable } from '../../../crosswalk/table.ts';
import type { CommandContext } from '../../../desk/cli/command-context.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { loadIntegrations } from '../../../stage/integrations.ts';
import { writeNewFile } from '../../../stage/new-file.ts';
import type { Target } from '../../../stage/target.ts';
import { isTable } from '../feed.ts';
import { isOfOneRoster, mappingToFillIn } from '../package/formats.ts';
import { checkReadable } from './compare-here.ts';
import { diffSnapshot, hasMapping, hasSettings } from './diff.ts';
import { withFiveCounts } from './read.ts';
import { surveyPackage } from './survey.ts';
import { surveyTables, type TablesSurvey } from './tables.ts';
import { diffView } from './views/snapshots.ts';
import { settingsText, surveyView } from './views/survey.ts';
import { mappingText, tablesView } from './views/tables.ts';

type DiffOptions = {
  name?: string;
  map?: string;
  settings?: string;
  writeSettings?: string;
  writeMapping?: string;
};

export const diff = async (context: CommandContext, file: string, options: DiffOptions): Promise<void> => {
  const { targetIfNamed: target, print, bar } = context;
  const { name, map, settings, writeSettings, writeMapping } = options;
  await checkReadable(file);
  if (isTable(file) && writeSettings !== undefined)
    throw new UsageError(
      'Settings are proposed for a zip of OneRoster: a table needs a mapping, as by --map.',
    );
  const isUnmapped = async (): Promise<boolean> =>
    !isTable(file) || target === undefined || !(await hasMapping(target, { file, name, settings }));
  if (writeMapping !== undefined || (map === undefined && (await isUnmapped()))) {
    const tables = await surveyTables(file, target && crosswalkOf(target));
    if (isTable(file) && tables?.tables.some(({ columns }) => isOfOneRoster(columns)))
      throw new UsageError(
        `${file} is a table, and nothing says what its columns mean: give --map, or --stage for the mapping in its bucket. One file of OneRoster is not a package: zip it with the others.`,
      );
    if (tables !== undefined) return proposeMapping(context, file, { tables, writeMapping });
  }
  const isUnknown = async (): Promise<boolean> => target === undefined || !(await hasSettings(target));
  const hasOwn = isTable(file) || settings !== undefined || map !== undefined;
  if (writeSettings !== undefined || (!hasOwn && (await isUnknown()))) return survey(context, file, options);
  const integrations = await loadIntegrations();
  const compareOptions = { file, name, map, settings, onProgress: bar('Comparing') };
  const found = await diffSnapshot(target, compareOptions, integrations);
  print(withFiveCounts(found), () => diffView(found));
};

/** Of what is not OneRoster, and has no mapping yet. */
const proposeMapping = async (
  { print, finish }: CommandContext,
  file: string,
  { tables, writeMapping }: { tables: TablesSurvey; writeMapping: string | undefined },
): Promise<void> => {
  const known = tables.tables.find((each) => each.mapping !== undefined)?.mapping;
  const mapping = known ?? (tables.isZip ? undefined : mappingToFillIn);
  if (writeMapping !== undefined && mapping !== undefined)
    await writeNewFile(writeMapping, mappingText(mapping));
  const written = mapping === undefined ? undefined : writeMapping;
  print({ ...tables, written }, () =>
    tablesView(tables, { given: file, written, isUnwritten: written !== writeMapping }),
  );
  finish(known !== undefined || written !== undefined);
};

const survey = async (
  { targetIfNamed: target, signal, print, bar, finish }: CommandContext,
  file: string,
  { writeSettings }: DiffOptions,
): Promise<void> => {
  const integrations = await loadIntegrations();
  const crosswalk = target && crosswalkOf(target);
  const options = { integrations, crosswalk, signal, onProgress: bar('Looking') };
  const found = await surveyPackage(file, options);
  if (writeSettings !== undefined) await writeNewFile(writeSettings, settingsText(found));
  print({ ...found, written: writeSettings }, () => surveyView(found, { given: file, writeSettings }));
  finish(found.blocks.length === 0);
};

const crosswalkOf = ({ dynamodb, crosswalkTable: table }: Target) =>
  table === undefined ? undefined : createCrosswalkTable({ dynamodb, table, nowMs: Date.now });
