import { json, ok } from '../http/answer.ts';
import { record } from '../http/bind.ts';
import { notFound } from '../http/refusal.ts';
import { type Call, route } from '../route.ts';
import type { EPortfolioObject } from '../state.ts';

// Neither paths nor shape of these objects are known: these are defaults, and the object passes through untouched.
const collection = 'object/';
const path = `${collection}{objectId}` as const;
const isOwn = (call: Call<'objectId'>) => objectOf(call).userId === call.caller.userId;

export const ePortfolioRoutes = [
  route({
    method: 'POST',
    component: 'eP',
    path: collection,
    scope: 'core:*:*',
    permission: 'EditEPortfolio',
    async handle({ json: body, state, caller }) {
      const object = record(await body(), '');
      const objectId = state.nextId();
      // It becomes the caller's.
      state.tables.ePortfolioObjects.put({ objectId, userId: caller.userId, object, writes: 1 });
      return json({ ObjectId: objectId, ...object });
    },
  }),

  route({
    method: 'GET',
    component: 'eP',
    path,
    scope: 'core:*:*',
    permission: 'SeeEPortfolio',
    own: isOwn,
    handle: (call) => json(objectOf(call).object),
  }),

  route({
    method: 'PUT',
    component: 'eP',
    path,
    scope: 'core:*:*',
    permission: 'EditEPortfolio',
    own: isOwn,
    async handle(call) {
      const object = record(await call.json(), '');
      const stored = objectOf(call);
      call.state.tables.ePortfolioObjects.put({ ...stored, object, writes: stored.writes + 1 });
      return ok;
    },
  }),
];

function objectOf({ ids, state }: Call<'objectId'>): EPortfolioObject {
  const found = state.tables.ePortfolioObjects.get(ids.objectId);
  if (found === undefined) throw notFound('ePortfolio object');
  return found;
}
