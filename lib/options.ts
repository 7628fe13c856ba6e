import type { ReadAcceptedExports } from './accepted-exports.ts';
import type { FunctionParts } from './operate/stage/template/functions/function-parts.ts';
import type { Option } from './option.ts';
import { changes } from './options/changes/option.ts';
import { courseExport } from './options/course-export/option.ts';
import { crosswalkFill } from './options/crosswalk-fill/option.ts';
import { reconcile } from './options/reconcile/option.ts';
import { snapshots } from './options/snapshots/option.ts';

/** One line each: without its line and its folder, an option is gone. */
const everyOption = [snapshots, changes, crosswalkFill, reconcile, courseExport] as const;

export const options: readonly Option[] = everyOption;

type RolesOf<Each> = Each extends { roles: infer Roles } ? keyof Roles : never;

/** What people do with options, as typed. */
export type OptionVerb = RolesOf<(typeof everyOption)[number]>;

/** What is deployed for each. */
export const loadOptionParts = async (): Promise<FunctionParts[]> =>
  (await Promise.all(options.map((option) => option.stage()))).map(({ stage }) => stage);

/** What reads the exports of the SIS; undefined: no option does. */
export const loadExportReader = async (): Promise<ReadAcceptedExports | undefined> =>
  (await options.find(({ acceptedExports }) => acceptedExports)?.acceptedExports?.())?.readAcceptedExports;

/** Their commands and screens. */
export const loadOptionDesks = async () =>
  (await Promise.all(options.map(({ desk }) => desk?.()))).flatMap((loaded) => loaded?.desk ?? []);
