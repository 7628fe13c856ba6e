import type { Option, OptionDesk, ReadAcceptedExports, ReadOnCall, StatusPart } from './option.ts';
import { changes } from './options/changes/option.ts';
import { courseExport } from './options/course-export/option.ts';
import { crosswalkFill } from './options/crosswalk-fill/option.ts';
import { reconcile } from './options/reconcile/option.ts';
import { snapshots } from './options/snapshots/option.ts';
import type { FunctionParts } from './stage/template/functions/function-parts.ts';

/** Without its import, its entry and its folder, an option is gone. */
const everyOption = [snapshots, changes, crosswalkFill, reconcile, courseExport] as const;

export const options: readonly Option[] = everyOption;

type RolesOf<Each> = Each extends { roles: infer Roles } ? keyof Roles : never;

/** What people do with options, as typed. */
export type OptionCommand = RolesOf<(typeof everyOption)[number]>;

/** What is deployed for each. */
export const loadOptionParts = async (): Promise<FunctionParts[]> =>
  (await Promise.all(options.map((option) => option.deployedParts()))).map(
    ({ deployedParts }) => deployedParts,
  );

/** What reads the exports of the SIS; undefined: no option does. */
export const loadExportReader = async (): Promise<ReadAcceptedExports | undefined> =>
  (await options.find(({ acceptedExports }) => acceptedExports)?.acceptedExports?.())?.readAcceptedExports;

/** By the names of the options that are deployed. */
export const loadOnCall = async (off: readonly string[]): Promise<[name: string, read: ReadOnCall][]> => {
  const deployed = options.filter(({ functions }) => !functions.some((name) => off.includes(name)));
  const loaded = deployed.map(async ({ name, onCall }): Promise<[string, ReadOnCall][]> => {
    const { readOnCall } = (await onCall?.()) ?? {};
    return readOnCall === undefined ? [] : [[name, readOnCall]];
  });
  return (await Promise.all(loaded)).flat();
};

/** Their commands and screens. */
export const loadOptionDesks = async (): Promise<OptionDesk[]> =>
  (await Promise.all(options.map(({ desk }) => desk?.()))).flatMap((loaded) => loaded?.desk ?? []);

/** What they report in `status`. */
export const statusPartsOf = async (desks: readonly OptionDesk[]): Promise<StatusPart[]> =>
  (await Promise.all(desks.map(({ status }) => status?.()))).flatMap((part) => part ?? []);
