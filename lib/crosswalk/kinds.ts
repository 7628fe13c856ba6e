export const crosswalkKinds = ['orgUnitCode', 'userName', 'orgDefinedId'] as const;
export type CrosswalkKind = (typeof crosswalkKinds)[number];

/** The platform's own lists, or files that the university puts into the bucket. */
export const crosswalkSources = ['platform', 'file'] as const;
export type CrosswalkSource = (typeof crosswalkSources)[number];

/** By field of a message. */
export const kindOfField: Readonly<Record<string, CrosswalkKind>> = {
  orgUnitCode: 'orgUnitCode',
  fromParentCode: 'orgUnitCode',
  toParentCode: 'orgUnitCode',
  userName: 'userName',
  orgDefinedId: 'orgDefinedId',
};
