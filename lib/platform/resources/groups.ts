import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { reading } from '../client/operation.ts';
import { itemsOf, pageOf } from './paging.ts';

export const getGroups = reading({
  name: 'list-groups',
  method: 'GET',
  component: 'lp',
  path: '/{orgUnitId}/groupcategories/{groupCategoryId}/groups/',
  scope: 'groups:group:read',
  repeatable: true,
  answer: pageOf(z.looseObject({})),
});

/** The groups of a category with their members, in the platform's own shape. */
export const listGroups = (platform: Platform, ids: { orgUnitId: number; groupCategoryId: number }) =>
  itemsOf(platform, getGroups, { path: ids });
