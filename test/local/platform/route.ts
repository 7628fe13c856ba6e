import type { IncomingMessage } from 'node:http';
import type { Permission } from './auth/permissions.ts';
import type { Answer } from './http/answer.ts';
import { notFound } from './http/refusal.ts';
import type { Row, State } from './state.ts';
import type { World } from './world.ts';

export type Arrival = { request: IncomingMessage; method: string; path: string; query: URLSearchParams };

/** One call that was matched to its route, with the user it comes from. */
export type Call<Name extends string = string> = Arrival & {
  world: World;
  tables: State['tables'];
  caller: Row<'users'>;
  ids: Record<Name, number>;
  texts: Record<Name, string>;
  /** The body, read and parsed once, however often it is asked for. */
  json(): Promise<unknown>;
};

/**
 * A caller needs the scope if it comes with a token, and always the permission: in the org unit that `where` names (else the
 * path's `orgUnitId`, else the organization), unless `own` says it is theirs.
 */
type Needs<Name extends string> = {
  scope: string | null;
  permission: Permission | null;
  where?(call: Call<Name>): number | Promise<number>;
  own?(call: Call<Name>): boolean;
};
type Handle<Name extends string> = (call: Call<Name>) => Answer | Promise<Answer>;

export type Route = Needs<string> & {
  method: string;
  component: string;
  path: string;
  handle: Handle<string>;
};

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/**
 * One operation, such as `GET le/{orgUnitId}/grades/`: `{…Id}` is a positive integer, another `{name}` any one segment, and
 * `[/]` a slash that may be left out.
 */
export function route<
  const Address extends `${'GET' | 'POST' | 'PUT' | 'DELETE'} ${'lp' | 'le' | 'eP'}/${string}`,
>(address: Address, needs: Needs<NamesIn<Address>>, handle: Handle<NamesIn<Address>>): Route {
  const [, method = '', component = '', path = ''] = /^(\w+) (\w+)\/(.*)$/.exec(address) ?? [];
  return { method, component, path, ...needs, handle };
}

export type Match = { ids: Record<string, number>; texts: Record<string, string> };

/** Matches what follows the API root, `<component>/<version>/<path>`. */
export function matcher({ component, path }: Route): (apiPath: string) => Match | null {
  const names: string[] = [];
  const pattern = path.replaceAll('[/]', '/?').replace(/\{(\w+)\}/g, (_, name: string) => {
    names.push(name);
    return name.endsWith('Id') ? '([1-9]\\d{0,14})' : '([^/]+)';
  });
  const expression = new RegExp(`^${component}/\\d+\\.\\d+/${pattern}$`);
  // Most routes are not meant, which this finds out in a tenth of the time.
  const [longest = ''] = path.split(/\{\w+\}|\[\/\]/).sort((one, other) => other.length - one.length);
  return (apiPath) => {
    if (!apiPath.includes(longest)) return null;
    const values = expression.exec(apiPath)?.slice(1);
    if (values === undefined) return null;
    const texts = Object.fromEntries(names.map((name, index) => [name, decoded(values[index] ?? '')]));
    const ids = Object.fromEntries(names.map((name) => [name, Number(texts[name])]));
    return { ids, texts };
  };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const ownPath = ({ ids, caller }: Call<'userId'>): boolean => ids.userId === caller.userId;

/** What is there; all else is not found. */
export function found<Found>(row: Found | undefined, what: string): Found {
  if (row === undefined) throw notFound(what);
  return row;
}

/** A row of the org unit that the path names. */
export function foundIn<Found extends { orgUnitId: number }>(
  { ids }: Call<'orgUnitId'>,
  row: Found | undefined,
  what: string,
): Found {
  return found(row?.orgUnitId === ids.orgUnitId ? row : undefined, what);
}
