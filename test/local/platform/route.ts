import type { Permission } from './auth/permissions.ts';
import type { Answer } from './http/answer.ts';
import type { Arrival } from './http/arrival.ts';
import type { State, User } from './state.ts';
import type { World } from './world.ts';

/** One call that was matched to its route, with the user it comes from. */
export type Call<Name extends string = string> = Arrival & {
  world: World;
  state: State;
  caller: User;
  ids: Record<Name, number>;
  texts: Record<Name, string>;
  /** The body, read and parsed once, however often it is asked for. */
  json(): Promise<unknown>;
};

/**
 * One operation. In `path`, `{…Id}` is a positive integer, another `{name}` any one segment, and `[/]` a slash
 * that may be left out. A caller needs the scope if it comes with a token, and always the permission: in the org
 * unit that `where` names (else the path's `orgUnitId`, else the organization), unless `own` says it is theirs.
 */
export type Route<Name extends string = string> = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  component: 'lp' | 'le' | 'eP';
  path: string;
  scope: string | null;
  permission: Permission | null;
  where?(call: Call<Name>): number | Promise<number>;
  own?(call: Call<Name>): boolean;
  handle(call: Call<Name>): Answer | Promise<Answer>;
};

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** Gives a route's functions the names in its own path. */
export function route<const Path extends string>(one: Route<NamesIn<Path>> & { path: Path }): Route {
  return one;
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

export function ownPath({ ids, caller }: Call<'userId'>): boolean {
  return ids.userId === caller.userId;
}
