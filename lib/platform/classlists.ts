import * as z from 'zod';
import type { Platform } from './client.ts';
import { reading } from './operation.ts';
import { itemsOf, pageOf } from './paging.ts';

const classlistUser = z.looseObject({
  /** Numeric text. */
  Identifier: z.string(),
  ProfileIdentifier: z.string(),
  /** `Lastname, Firstname` */
  DisplayName: z.string(),
  // Privacy settings hide them, even where the same user's profile shows them.
  Username: z.string().nullable(),
  Email: z.string().nullable(),
});

export type ClasslistUser = z.infer<typeof classlistUser>;

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

/** The users of an org unit, in one answer; where the platform gives them in pages all the same, in all of them. */
export const readClasslist = (platform: Platform, orgUnitId: number): Promise<ClasslistUser[]> =>
  Array.fromAsync(itemsOf(platform, getClasslist, { path: { orgUnitId } }));

/** The users of an org unit, page by page. */
export const listClasslist = (platform: Platform, orgUnitId: number) =>
  itemsOf(platform, getClasslistPages, { path: { orgUnitId } });
