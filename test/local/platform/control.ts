import * as z from 'zod';
import { type Answer, json } from './http/answer.ts';
import { bind, id, record } from './http/bind.ts';
import { parseJson } from './http/body.ts';
import { badRequest, errorAnswer } from './http/refusal.ts';
import { found } from './route.ts';
import { comment, gradeValueFields, type State, sow } from './state.ts';
import { settingsShape, type World } from './world.ts';

export const controlRoot = '/_local/';

type Control = Operator & { query: URLSearchParams; body: unknown };
type Operator = { world: World; reset(): void; closeIdleConnections(): void };

/** What tests and people say to the platform behind its API's back, by method and name. */
const controls: Record<string, (control: Control) => unknown> = {
  'GET state': ({ world, query }) => stateOf(world, query.get('only')),
  'GET requests': ({ world }) => world.requests,
  'GET faults': ({ world }) => world.faults.list(),
  'POST faults': ({ world, body }) => {
    for (const fault of Array.isArray(body) ? body : [body]) world.faults.add(fault);
    return world.faults.list();
  },
  'DELETE faults': ({ world }) => world.faults.clear(),
  'POST reset': ({ reset }) => reset(),
  'POST seed': ({ world, body }) => sow(world.state, body),
  'POST change': ({ world, body }) => changeRows(world.state, body),
  'POST remove': ({ world, body }) => removeRows(world.state, body),

  'POST clock': ({ world, body }) => {
    Object.assign(world.clock, bind(z.strictObject({ skewSeconds: z.number() }), body));
  },

  'POST keys': ({ world: { state }, body }) => {
    const { userId, userKey, keyId } = bind(keyShape, body);
    const user = found(state.tables.users.get(userId), 'User');
    state.tables.users.put({ ...user, userKey });
    if (keyId !== undefined) state.keyIds.set(keyId, userId);
  },

  'POST rateLimit': ({ world, body }) => world.rateLimit.set(bind(rateLimitShape, body)),

  'GET settings': ({ world }) => world.settings,
  'POST settings': ({ world, body }) => {
    const { settings } = world;
    Object.assign(settings, bind(settingsShape, { ...settings, ...bind(record, body) }));
    return settings;
  },

  // What a server does to a connection that nobody used for a while.
  'DELETE connections': ({ closeIdleConnections }) => closeIdleConnections(),

  'GET oauth': ({ world }) => world.oauth.overview(),
  'POST oauth/clients': ({ world, body }) => world.oauth.add(body),
  // As if a person had authorized the client in a browser.
  'POST oauth/refreshTokens': ({ world: { oauth }, body }) => {
    const { clientId, ...given } = bind(grantShape, body);
    const { userId, scopes } = found(oauth.clients.get(clientId), 'Client');
    return { refreshToken: oauth.issueRefreshToken({ clientId, userId, scopes, ...given }) };
  },
  'DELETE oauth/refreshTokens': ({ world }) => world.oauth.refreshTokens.clear(),
  'POST oauth/expire': ({ world }) => {
    for (const token of world.oauth.accessTokens.values()) token.expiresAtSeconds = 0;
  },
};

const keyShape = z.strictObject({ userId: id, userKey: z.string(), keyId: z.string().optional() });
const rateLimitShape = z.strictObject({
  creditsPerMinute: z.number().nullable(),
  windowSeconds: z.number().default(60),
});
const grantShape = z.strictObject({
  clientId: z.string(),
  userId: id.exactOptional(),
  scopes: z.array(z.string()).exactOptional(),
});

const gradeValueKey = { gradeObjectId: id, userId: id };
const enrollmentKey = { orgUnitId: id, userId: id };
const optionalComment = comment.optional();
const changesShape = z.strictObject({
  gradeValues: z
    .array(
      z.strictObject({
        ...gradeValueKey,
        ...gradeValueFields,
        lastModified: z.string().optional(),
        comments: optionalComment,
        privateComments: optionalComment,
      }),
    )
    .default([]),
  enrollments: z.array(z.strictObject({ ...enrollmentKey, roleId: id.optional() })).default([]),
  gradeObjects: z
    .array(
      z.strictObject({ gradeObjectId: id, name: z.string().optional(), maxPoints: z.number().optional() }),
    )
    .default([]),
});
/** Of rows that are there: what is not named stays as it is, also when the row was modified last. */
export type PlatformChanges = z.input<typeof changesShape>;

const removalsShape = z.strictObject({
  gradeValues: z.array(z.strictObject(gradeValueKey)).default([]),
  enrollments: z.array(z.strictObject(enrollmentKey)).default([]),
});

export type PlatformRemovals = z.input<typeof removalsShape>;

// What cannot be changed must not pass for changed.
const gradeValueOf = ({ tables }: State, key: { gradeObjectId: number; userId: number }) =>
  found(tables.gradeValues.get(key.gradeObjectId, key.userId), 'Grade value');
const enrollmentOf = ({ tables }: State, key: { orgUnitId: number; userId: number }) =>
  found(tables.enrollments.get(key.orgUnitId, key.userId), 'Enrollment');

/** As by a person, or by a restore: each row keeps what is not named, also when it was modified last. */
function changeRows(state: State, body: unknown) {
  const { gradeValues, enrollments, gradeObjects } = bind(changesShape, body);
  for (const change of gradeValues) Object.assign(gradeValueOf(state, change), change);
  for (const change of enrollments) Object.assign(enrollmentOf(state, change), change);
  for (const change of gradeObjects)
    Object.assign(found(state.tables.gradeObjects.get(change.gradeObjectId), 'Grade object'), change);
}

function removeRows(state: State, body: unknown) {
  const { gradeValues, enrollments } = bind(removalsShape, body);
  for (const key of gradeValues) state.tables.gradeValues.delete(gradeValueOf(state, key));
  for (const key of enrollments) state.tables.enrollments.delete(enrollmentOf(state, key));
}

type ControlRequest = { method: string; name: string; query: URLSearchParams; body: Buffer };

export function answerControl({ method, name, query, body }: ControlRequest, operator: Operator): Answer {
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
