import { json, ok } from '../http/answer.ts';
import { id } from '../http/bind.ts';
import { keptFileAnswer } from '../http/kept-file.ts';
import { invalidParameters, notFound } from '../http/refusal.ts';
import { bookmarkedPage } from '../paging.ts';
import { type Call, route } from '../route.ts';
import type { OrgUnit, State } from '../state.ts';

export const orgUnitRoutes = [
  route({
    method: 'GET',
    component: 'lp',
    path: 'orgstructure/{orgUnitId}',
    scope: 'organizations:organization:read',
    permission: 'SeeOrgUnits',
    handle: (call) => json(orgUnitOut(orgUnitOf(call))),
  }),

  route({
    method: 'GET',
    component: 'lp',
    path: 'orgstructure/',
    scope: 'organizations:organization:read',
    permission: 'SeeOrgUnits',
    handle(call) {
      const { orgUnits } = call.state.tables;
      const type = call.query.get('orgUnitType') ?? '';
      if (!/^\d*$/.test(type)) throw invalidParameters('orgUnitType must be a number');
      const rows = type === '' ? orgUnits.all() : orgUnits.where('typeId', Number(type));
      return bookmarkedPage(call, { rows, idOf: ({ orgUnitId }) => orgUnitId, out: orgUnitOut });
    },
  }),

  route({
    method: 'POST',
    component: 'lp',
    path: 'orgstructure/{orgUnitId}/parents/',
    scope: 'organizations:organization:create',
    permission: 'ManageOrgUnits',
    async handle(call) {
      const parent = call.state.tables.orgUnits.get(id(await call.json(), ''));
      if (parent === undefined) throw notFound('Parent org unit');
      const orgUnit = orgUnitOf(call);
      if (isWithin(call.state, parent, orgUnit))
        throw invalidParameters('an org unit cannot be its own ancestor');
      // Asked for again, it answers the same: the relationship is there.
      if (!orgUnit.parents.includes(parent.orgUnitId)) orgUnit.parents.push(parent.orgUnitId);
      return ok;
    },
  }),

  route({
    method: 'DELETE',
    component: 'lp',
    path: 'orgstructure/{orgUnitId}/parents/{parentOrgUnitId}',
    scope: 'organizations:organization:delete',
    permission: 'ManageOrgUnits',
    handle(call) {
      const orgUnit = orgUnitOf(call);
      const { parentOrgUnitId } = call.ids;
      if (!orgUnit.parents.includes(parentOrgUnitId)) throw notFound('Parent relationship');
      orgUnit.parents = orgUnit.parents.filter((parent) => parent !== parentOrgUnitId);
      return ok;
    },
  }),

  route({
    method: 'GET',
    component: 'lp',
    path: 'courses/{orgUnitId}/image',
    scope: 'organizations:image:read',
    permission: 'SeeOrgUnits',
    handle({ ids, state }) {
      const image = state.tables.courseImages.get(ids.orgUnitId);
      if (image === undefined) throw notFound('Course image');
      return keptFileAnswer(state, image);
    },
  }),
];

function orgUnitOf({ ids, state }: Call<'orgUnitId'>): OrgUnit {
  const orgUnit = state.tables.orgUnits.get(ids.orgUnitId);
  if (orgUnit === undefined) throw notFound('Org unit');
  return orgUnit;
}

function isWithin(state: State, one: OrgUnit, other: OrgUnit): boolean {
  if (one.orgUnitId === other.orgUnitId) return true;
  return one.parents.some((parentId) => {
    const parent = state.tables.orgUnits.get(parentId);
    return parent !== undefined && isWithin(state, parent, other);
  });
}

const types: Record<number, string> = {
  1: 'Organization',
  3: 'Course Offering',
  5: 'Department',
  7: 'Section',
};

export function typeOut(typeId: number) {
  const name = types[typeId] ?? `Type ${typeId}`;
  return { Id: typeId, Code: name.toLowerCase().replaceAll(' ', '_'), Name: name };
}

function orgUnitOut({ orgUnitId, name, code, typeId }: OrgUnit) {
  const path = `/content/${code}/`;
  return { Identifier: String(orgUnitId), Name: name, Code: code, Path: path, Type: typeOut(typeId) };
}
