import { createCrosswalkTable } from '../../../crosswalk/table.ts';
import type { CommandContext } from '../../../desk/cli/command-context.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { loadIntegrations } from '../../../stage/integrations.ts';
import { writeNewFile } from '../../../stage/new-file.ts';
import type { Target } from '../../../stage/target.ts';
import { isTable } from '../request.ts';
import { checkReadable } from './compare-here.ts';
import { diffSnapshot, hasSettings } from './diff.ts';
import { withFiveCounts } from './read.ts';
import { surveyPackage } from './survey.ts';
import { diffView } from './views/snapshots.ts';
import { settingsText, surveyView } from './views/survey.ts';

type Given = { map?: string; settings?: string; writeSettings?: string };

export const diff = async (context: CommandContext, file: string, given: Given): Promise<void> => {
  const { targetIfNamed: target, print, bar } = context;
  const { map, settings, writeSettings } = given;
  await checkReadable(file);
  if (isTable(file) && writeSettings !== undefined)
    throw new UsageError(
      'Settings are proposed for a zip of OneRoster: a table needs a mapping, as by --map.',
    );
  if (isTable(file) && target === undefined && map === undefined)
    throw new UsageError(
      `${file} is a table, and nothing says what its columns mean: give --map, or --stage for the mapping in its bucket. One file of OneRoster is not a package: zip it with the others.`,
    );
  const isUnknown = async (): Promise<boolean> => target === undefined || !(await hasSettings(target));
  const hasOwn = isTable(file) || settings !== undefined || map !== undefined;
  if (writeSettings !== undefined || (!hasOwn && (await isUnknown()))) return survey(context, file, given);
  const integrations = await loadIntegrations();
  const options = { file, map, settings, onProgress: bar('Comparing') };
  const found = await diffSnapshot(target, options, integrations);
  print(withFiveCounts(found), () => diffView(found));
};

const survey = async (
  { targetIfNamed: target, signal, print, bar, finish }: CommandContext,
  file: string,
  { writeSettings }: Given,
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
