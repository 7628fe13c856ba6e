import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { reading } from '../client/operation.ts';
import { itemsOf, pageOf } from './paging.ts';

const classlistUser = z.looseObject({
  /** Numeric text. */
  Identifier: z.string(),
  ProfileIdentifier: z.string().nullish(),
  // Privacy settings hide names, even where the same user's profile shows them.
  /** `Lastname, Firstname` */
  DisplayName: z.string().nullish(),
  Username: z.string().nullish(),
  OrgDefinedId: z.string().nullish(),
  Email: z.string().nullish(),
  RoleId: z.number().nullish(),
});

const list = { scope: 'enrollment:orgunit:read', answer: pageOf(classlistUser) } as const;

export const getClasslist = reading({
  ...list,
  name: 'list-classlist',
  call: 'GET /le/{orgUnitId}/classlist/',
});

export const getClasslistPages = reading({
  ...list,
  name: 'list-classlist-paged',
  call: 'GET /le/{orgUnitId}/classlist/paged/',
});

/** The users of an org unit, in one answer. If the platform pages it nevertheless, all pages are read. */
export const readClasslist = (platform: Platform, orgUnitId: number) =>
  Array.fromAsync(itemsOf(platform, getClasslist, { path: { orgUnitId } }));

/** Undefined if no user of the org unit has this id. */
export const findInClasslist = async (
  platform: Platform,
  { orgUnitId, userId }: { orgUnitId: number; userId: number },
) => {
  for await (const user of listClasslist(platform, orgUnitId))
    if (user.Identifier === String(userId)) return user;
  return undefined;
};

/** The users of an org unit, page by page. */
export const listClasslist = (platform: Platform, orgUnitId: number) =>
  itemsOf(platform, getClasslistPages, { path: { orgUnitId } });

export const getGroups = reading({
  name: 'list-groups',
  call: 'GET /lp/{orgUnitId}/groupcategories/{groupCategoryId}/groups/',
  scope: 'groups:group:read',
  answer: pageOf(z.looseObject({})),
});

/** The groups of a category with their members, in the platform's own shape. */
export const listGroups = (platform: Platform, ids: { orgUnitId: number; groupCategoryId: number }) =>
  itemsOf(platform, getGroups, { path: ids });
