import type { CrosswalkKind } from '../../../../../lib/delivery/crosswalk/kinds.ts';
import type { Body } from '../imports.ts';
import type { Found } from './crosswalk.ts';

export type Letter = { body: Body; problem: string };

export type Platform = ReturnType<typeof newPlatform>;

type Held = { at: string; value: string | undefined };

const userFields = ['userName', 'orgDefinedId'] as const;

/**
 * The platform behind the functions: it holds enrollments as `2601 101` with a role's id, and grades as `2601/Quiz 101` with points.
 * A message names org unit and user by their ids, or by names that the crosswalk knows when the message is handled; otherwise it
 * becomes a letter. Of messages about one thing, the latest counts, in whatever order they come.
 */
export const newPlatform = (crosswalk: { find(kind: CrosswalkKind, name: string): Found }) => {
  const held = new Map<string, Held>();
  /** Keys of grade objects, as `2601/Quiz`. */
  const objects = new Set<string>();
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
    objects.delete(from);
    objects.add(to);
    for (const [key, was] of [...held])
      if (key.startsWith(`${from} `)) {
        held.delete(key);
        held.set(`${to}${key.slice(from.length)}`, was);
      }
  };

  const write = (key: string, { time, sequence }: Body, value: string | undefined): void => {
    const at = `${time} ${sequence.padStart(12, '0')}`;
    if ((held.get(key)?.at ?? '') > at) return;
    held.set(key, { at, value });
    written.set(key, [...(written.get(key) ?? []), value]);
  };

  /** Answers why the message is a letter, if it is one. */
  const handle = (body: Body): string | undefined => {
    const { type, data } = body;
    const orgUnit = orgUnitOf(data);
    if ('problem' in orgUnit) return orgUnit.problem;
    if (type.includes('grade-object-create')) {
      objects.add(`${orgUnit.id}/${data.name}`);
      return undefined;
    }
    const object = type.includes('grade') ? objectOf(orgUnit.id, data) : undefined;
    if (type.includes('grade') && object === undefined)
      return `unknown-id gradeObjectName ${data.gradeObjectName}`;
    if (type.includes('grade-object-update')) {
      if (object !== undefined && data.name !== undefined) rename(object, `${orgUnit.id}/${data.name}`);
      return undefined;
    }
    const user = userOf(data);
    if ('problem' in user) return user.problem;
    const points = (data.grade as { points?: number } | undefined)?.points;
    const value = type.includes('remove') ? undefined : String(points ?? data.roleId);
    write(`${object ?? orgUnit.id} ${user.id}`, body, value);
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
    objects: (): string[] => [...objects].sort(),
    keys: (): string[] => [...held].flatMap(([key, { value }]) => (value === undefined ? [] : key)),
    /** As `2601 101 110`, `2601/Quiz 101 18`. */
    all: (): string[] =>
      [...held].flatMap(([key, { value }]) => (value === undefined ? [] : `${key} ${value}`)).sort(),
  };
};
