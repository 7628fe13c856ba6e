import { json, ok } from '../http/answer.ts';
import { bind, id } from '../http/bind.ts';
import { invalidParameters, notFound } from '../http/refusal.ts';
import { keptFileAnswer } from '../http/upload.ts';
import { bookmarkedPage } from '../paging.ts';
import { type Call, found, route } from '../route.ts';
import type { Row } from '../state.ts';

type OrgUnit = Row<'orgUnits'>;

const reads = { scope: 'organizations:organization:read', permission: 'SeeOrgUnits' } as const;

export const orgUnitRoutes = [
  route('GET lp/orgstructure/{orgUnitId}', reads, (call) => json(orgUnitOut(orgUnitOf(call)))),

  route('GET lp/orgstructure/', reads, (call) => {
    const { orgUnits } = call.tables;
    const type = call.query.get('orgUnitType') ?? '';
    if (!/^\d*$/.test(type)) throw invalidParameters('orgUnitType must be a number');
    const rows = type === '' ? orgUnits.all() : orgUnits.where('typeId', Number(type));
    return bookmarkedPage(call, { rows, idOf: ({ orgUnitId }) => orgUnitId, out: orgUnitOut });
  }),

  route(
    'POST lp/orgstructure/{orgUnitId}/parents/',
    { scope: 'organizations:organization:create', permission: 'ManageOrgUnits' },
    async (call) => {
      const parent = found(call.tables.orgUnits.get(bind(id, await call.json())), 'Parent org unit');
      const orgUnit = orgUnitOf(call);
      if (isWithin(call, parent, orgUnit)) throw invalidParameters('an org unit cannot be its own ancestor');
      // Asked for again, it answers the same: the relationship is there.
      if (!orgUnit.parents.includes(parent.orgUnitId)) orgUnit.parents.push(parent.orgUnitId);
      return ok;
    },
  ),

  route(
    'DELETE lp/orgstructure/{orgUnitId}/parents/{parentOrgUnitId}',
    { scope: 'organizations:organization:delete', permission: 'ManageOrgUnits' },
    (call) => {
      const orgUnit = orgUnitOf(call);
      const { parentOrgUnitId } = call.ids;
      if (!orgUnit.parents.includes(parentOrgUnitId)) throw notFound('Parent relationship');
      orgUnit.parents = orgUnit.parents.filter((parent) => parent !== parentOrgUnitId);
      return ok;
    },
  ),

  route(
    'GET lp/courses/{orgUnitId}/image',
    { scope: 'organizations:image:read', permission: 'SeeOrgUnits' },
    ({ ids, tables }) => keptFileAnswer(found(tables.courseImages.get(ids.orgUnitId), 'Course image')),
  ),
];

const orgUnitOf = ({ ids, tables }: Call<'orgUnitId'>): OrgUnit =>
  found(tables.orgUnits.get(ids.orgUnitId), 'Org unit');

function isWithin(call: Call<'orgUnitId'>, one: OrgUnit, other: OrgUnit): boolean {
  if (one.orgUnitId === other.orgUnitId) return true;
  return one.parents.some((parentId) => {
    const parent = call.tables.orgUnits.get(parentId);
    return parent !== undefined && isWithin(call, parent, other);
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
