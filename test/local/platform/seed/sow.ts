import { badRequest } from '../http/refusal.ts';
import type { State } from '../state.ts';
import { courseSowers } from './courses.ts';
import { organizationSowers } from './organization.ts';
import type { Sower } from './sower.ts';

/** Rows by table: ids are required, the rest has defaults, and a row with a known id replaces the old one. */
export type Seed = Record<string, object[]>;

const sowers: Record<string, Sower> = { ...organizationSowers, ...courseSowers };

export function sow(state: State, seed: Record<string, unknown>) {
  const unknown = Object.keys(seed).filter((name) => !Object.hasOwn(sowers, name));
  if (unknown.length > 0) throw badRequest(`nothing to seed is called ${unknown.join(', ')}`);
  for (const [name, rows] of Object.entries(seed)) {
    if (!Array.isArray(rows)) throw badRequest(`${name} must be an array`);
    for (const [index, row] of rows.entries()) sowers[name]?.(row, `${name}[${index}]`, state);
  }
}
