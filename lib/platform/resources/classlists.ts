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

const list = {
  method: 'GET',
  component: 'le',
  scope: 'enrollment:orgunit:read',
  repeatable: true,
  answer: pageOf(classlistUser),
} as const;

export const getClasslist = reading({ ...list, name: 'list-classlist', path: '/{orgUnitId}/classlist/' });

export const getClasslistPages = reading({
  ...list,
  name: 'list-classlist-paged',
  path: '/{orgUnitId}/classlist/paged/',
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
