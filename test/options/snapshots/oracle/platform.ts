import type { CrosswalkKind } from '../../../../lib/crosswalk/kinds.ts';
import type { Body } from '../imports.ts';
import type { Found } from './crosswalk.ts';
import { gradeText } from './files.ts';

export type Letter = { body: Body; problem: string };

export type Platform = ReturnType<typeof newPlatform>;

/** `outOf`: the maximum that a grade was given with. */
type Held = { at: string; value: string | undefined; comments?: string | undefined; outOf?: unknown };

const placeInTime = ({ time, sequence }: Body): string => `${time} ${sequence.padStart(12, '0')}`;
const userFields = ['userName', 'orgDefinedId'] as const;

/**
 * The platform behind the functions: it holds enrollments as `2601 101` with a role's id, and grades as `2601/Quiz 101` with points
 * and comments. A grade that says out of which maximum it is waits until the grade object has that. A message names org unit and user by their ids, or by names that the crosswalk knows when the message is handled; otherwise it
 * becomes a letter. Of messages about one thing, the latest counts, in whatever order they come.
 */
export const newPlatform = (crosswalk: { find(kind: CrosswalkKind, name: string): Found }) => {
  const held = new Map<string, Held>();
  /** Grade objects by their keys, as `2601/Quiz`. */
  const objects = new Map<string, { max: unknown; at: string }>();
  /** By key, each value that it was given, in this order. */
  const written = new Map<string, (string | undefined)[]>();
  let letters: Letter[] = [];

  const orgUnitOf = ({ orgUnitId, orgUnitCode }: Body['data']): Found =>
    typeof orgUnitId === 'number' ? { id: orgUnitId } : crosswalk.find('orgUnitCode', String(orgUnitCode));
  const userOf = (data: Body['data']): Found => {
    const field = userFields.find((each) => each in data) ?? 'userName';
    return typeof data.userId === 'number' ? { id: data.userId } : crosswalk.find(field, String(data[field]));
  };

  const objectOf = (orgUnit: number, data: Body['data']): string | undefined => {
    const names = [data.gradeObjectName, ...((data.gradeObjectFormerNames as string[] | undefined) ?? [])];
    return names.map((name) => `${orgUnit}/${name}`).find((key) => objects.has(key));
  };

  const rename = (from: string, to: string): void => {
    objects.set(to, objects.get(from) ?? { max: undefined, at: '' });
    objects.delete(from);
    for (const [key, was] of [...held])
      if (key.startsWith(`${from} `)) {
        held.delete(key);
        held.set(`${to}${key.slice(from.length)}`, was);
      }
  };

  const isSuperseded = (key: string, body: Body): boolean => (held.get(key)?.at ?? '') > placeInTime(body);
  const write = (key: string, body: Body, more: Omit<Held, 'at'>): void => {
    if (isSuperseded(key, body)) return;
    held.set(key, { at: placeInTime(body), ...more });
    written.set(key, [...(written.get(key) ?? []), more.value]);
  };

  const update = (object: string, orgUnit: number, body: Body): void => {
    const { name, maxPoints } = body.data;
    const at = placeInTime(body);
    if (maxPoints !== undefined && at > (objects.get(object)?.at ?? ''))
      objects.set(object, { max: maxPoints, at });
    if (name !== undefined && object !== `${orgUnit}/${name}`) rename(object, `${orgUnit}/${name}`);
  };

  const handleGrade = (object: string, user: number, body: Body): string | undefined => {
    const key = `${object} ${user}`;
    const { points = '', outOf } = (body.data.grade ?? {}) as { points?: number; outOf?: number };
    const max = objects.get(object)?.max;
    if (outOf !== undefined && outOf !== max && !isSuperseded(key, body))
      return `the grade is out of ${outOf}, and the maximum is ${max}`;
    const comments = String(body.data.comments ?? held.get(key)?.comments ?? '');
    write(key, body, { value: gradeText(points, comments), comments, outOf });
    return undefined;
  };

  /** Answers why the message is a letter, if it is one. */
  const handle = (body: Body): string | undefined => {
    const { type, data } = body;
    const orgUnit = orgUnitOf(data);
    if ('problem' in orgUnit) return orgUnit.problem;
    if (type.includes('grade-object-create')) {
      const key = `${orgUnit.id}/${data.name}`;
      objects.set(key, objects.get(key) ?? { max: data.maxPoints, at: placeInTime(body) });
      return undefined;
    }
    const isGrade = type.includes('grade');
    const object = isGrade ? objectOf(orgUnit.id, data) : undefined;
    if (isGrade && object === undefined) return `unknown-id gradeObjectName ${data.gradeObjectName}`;
    if (object !== undefined && type.includes('grade-object-update')) {
      update(object, orgUnit.id, body);
      return undefined;
    }
    const user = userOf(data);
    if ('problem' in user) return user.problem;
    if (object !== undefined) return handleGrade(object, user.id, body);
    const value = type.includes('remove') ? undefined : String(data.roleId);
    write(`${orgUnit.id} ${user.id}`, body, { value });
    return undefined;
  };

  /** A grade may come before its grade object. */
  const take = (bodies: readonly Body[]): void => {
    let left: readonly Letter[] = bodies.map((body) => ({ body, problem: '' }));
    for (let before = -1; left.length > 0 && left.length !== before; ) {
      before = left.length;
      left = left.flatMap(({ body }) => {
        const problem = handle(body);
        return problem === undefined ? [] : [{ body, problem }];
      });
    }
    letters.push(...left);
  };

  return {
    take,
    letters: (): readonly Letter[] => letters,
    /** As an operator replays all letters. */
    replay: (): void => {
      const all = letters;
      letters = [];
      take(all.map(({ body }) => body));
    },
    valueOf: (key: string): string | undefined => held.get(key)?.value,
    writtenTo: (key: string): readonly (string | undefined)[] => written.get(key) ?? [],
    objects: (): string[] => [...objects.keys()].sort(),
    maximumOf: (object: string): unknown => objects.get(object)?.max,
    /** The maximum that a grade was given with. */
    outOf: (key: string): unknown => held.get(key)?.outOf,
    keys: (): string[] => [...held].flatMap(([key, { value }]) => (value === undefined ? [] : key)),
    /** As `2601 101 110`, `2601/Quiz 101 18`. */
    all: (): string[] =>
      [...held].flatMap(([key, { value }]) => (value === undefined ? [] : `${key} ${value}`)).sort(),
  };
};
