import { oauthControls } from './auth/oauth-control.ts';
import { changeRows, removeRows } from './changes.ts';
import { type Answer, json } from './http/answer.ts';
import { exactly, id, nullable, number, optional, or, record, string } from './http/bind.ts';
import { parseJson } from './http/body.ts';
import { errorAnswer } from './http/error-answer.ts';
import { badRequest, notFound } from './http/refusal.ts';
import { sow } from './seed/sow.ts';
import { changeSettings } from './settings.ts';
import type { World } from './world.ts';

export const controlRoot = '/_local/';

export type Controls = Record<string, (control: Control) => unknown>;
type Control = Operator & { query: URLSearchParams; body: unknown };
type Operator = { world: World; reset(): void; closeIdleConnections(): void };

/** What tests and people say to the platform behind its API's back, by method and name. */
const controls: Controls = {
  'GET state': ({ world, query }) => stateOf(world, query.get('only')),
  'GET requests': ({ world }) => world.requests.entries(),
  'GET faults': ({ world }) => world.faults.list(),
  'POST faults': ({ world, body }) => {
    for (const fault of Array.isArray(body) ? body : [body]) world.faults.add(fault);
    return world.faults.list();
  },
  'DELETE faults': ({ world }) => world.faults.clear(),
  'POST reset': ({ reset }) => reset(),
  'POST seed': ({ world, body }) => sow(world.state, record(body, '')),
  'POST change': ({ world, body }) => changeRows(world.state, body),
  'POST remove': ({ world, body }) => removeRows(world.state, body),

  'POST clock': ({ world, body }) => {
    world.clock.skewSeconds = exactly({ skewSeconds: number })(body, '').skewSeconds;
  },

  'POST keys': ({ world, body }) => {
    const shape = exactly({ userId: id, userKey: string, keyId: optional(string) });
    const { userId, userKey, keyId } = shape(body, '');
    if (world.state.tables.users.get(userId) === undefined) throw notFound('User');
    world.state.userKeys.set(userId, userKey);
    if (keyId !== undefined) world.state.keyIds.set(keyId, userId);
  },

  'POST rateLimit': ({ world, body }) => {
    const shape = exactly({ creditsPerMinute: nullable(number), windowSeconds: or(number, 60) });
    const { creditsPerMinute, windowSeconds } = shape(body, '');
    world.rateLimit.set(creditsPerMinute, windowSeconds);
  },

  'GET settings': ({ world }) => world.settings,
  'POST settings': ({ world, body }) => changeSettings(world.settings, body),

  // What a server does to a connection that nobody used for a while.
  'DELETE connections': ({ closeIdleConnections }) => closeIdleConnections(),

  ...oauthControls,
};

type Asked = { method: string; name: string; query: URLSearchParams; body: Buffer };

export function answerControl({ method, name, query, body }: Asked, operator: Operator): Answer {
  const control = controls[`${method} ${name}`];
  try {
    if (control === undefined) throw badRequest(`Known: ${Object.keys(controls).join(', ')}`);
    return json(control({ ...operator, query, body: body.length === 0 ? {} : parseJson(body) }) ?? {});
  } catch (error) {
    return errorAnswer(error, operator.world.site);
  }
}

/** All tables, or those that `only` names, separated by commas. */
function stateOf({ state }: World, only: string | null) {
  const tables = Object.entries(state.tables).filter(
    ([name]) => only === null || only.split(',').includes(name),
  );
  return Object.fromEntries(tables.map(([name, table]) => [name, table.all()]));
}
