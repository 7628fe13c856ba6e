// Written by `npm run generate` from the fields that the schemas of messages tag as ids. Do not edit.
export const shownIds: ReadonlySet<string> = new Set([
  'attributeId',
  'categoryId',
  'dataTypeId',
  'folderId',
  'fromParentId',
  'gradeObjectId',
  'gradeSchemeId',
  'linkId',
  'moduleId',
  'orgUnitId',
  'roleId',
  'toParentId',
  'topicId',
  'userId',
]);
