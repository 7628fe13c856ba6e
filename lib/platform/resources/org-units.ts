import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { undefinedIfNotFound } from '../client/not-found.ts';
import { acknowledged, reading } from '../client/operation.ts';
import type { CallInput } from '../client/request.ts';
import { identifier, itemsOf, pageOf, pagesOf } from './paging.ts';

const orgUnit = z.looseObject({
  Identifier: identifier,
  Name: z.string(),
  Code: z.string().nullish(),
  Path: z.string().nullish(),
  Type: z.looseObject({ Id: z.number() }),
});

const reads = {
  method: 'GET',
  component: 'lp',
  scope: 'organizations:organization:read',
  repeatable: true,
} as const;

export const getOrgUnit = reading({
  ...reads,
  name: 'read-org-unit',
  path: '/orgstructure/{orgUnitId}',
  answer: orgUnit,
  repeats: { Identifier: 'orgUnitId' },
});

/** @throws PlatformError if it does not exist. */
export const requireOrgUnit = (platform: Platform, orgUnitId: number) =>
  platform.call(getOrgUnit, { path: { orgUnitId } });

export const getOrgUnits = reading({
  ...reads,
  name: 'list-org-units',
  path: '/orgstructure/',
  answer: pageOf(orgUnit),
});

/** The type of org unit that a course usually is. */
export const courseOffering = 3;

/** All org units, or those of one type: with `courseOffering`, all courses. */
export const listOrgUnits = (platform: Platform, { type }: { type?: number } = {}) =>
  itemsOf(platform, getOrgUnits, type === undefined ? {} : { query: { orgUnitType: String(type) } });

/** The pages of all org units, from the first, or from where an earlier reading stopped. */
export const listOrgUnitPages = (platform: Platform, from: CallInput = {}) =>
  pagesOf(platform, getOrgUnits, from);

type Parent = { orgUnitId: number; parentOrgUnitId: number };

export const postParent = acknowledged({
  name: 'add-parent',
  method: 'POST',
  component: 'lp',
  path: '/orgstructure/{orgUnitId}/parents/',
  scope: 'organizations:organization:create',
  // A parent that is there already is not added twice.
  repeatable: true,
});

/** Attaches an org unit to a further parent. The body is one bare number. */
export const addParent = (platform: Platform, { orgUnitId, parentOrgUnitId }: Parent) =>
  platform.call(postParent, { path: { orgUnitId }, json: parentOrgUnitId });

export const deleteParent = acknowledged({
  name: 'remove-parent',
  method: 'DELETE',
  component: 'lp',
  path: '/orgstructure/{orgUnitId}/parents/{parentOrgUnitId}',
  scope: 'organizations:organization:delete',
  // A second call finds nothing to remove.
  repeatable: true,
});

/** Detaches an org unit from a parent; false if it was not attached to it. */
export const removeParent = async (platform: Platform, parent: Parent): Promise<boolean> => {
  const done = platform.call(deleteParent, { path: parent }).then(() => true);
  return (await undefinedIfNotFound(done)) ?? false;
};
