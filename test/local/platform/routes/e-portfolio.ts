import { json, ok } from '../http/answer.ts';
import { record } from '../http/bind.ts';
import { notFound } from '../http/refusal.ts';
import { type Call, route } from '../route.ts';
import type { EPortfolioObject } from '../state.ts';

// Neither path nor shape of these objects is documented: this is a default, and the object passes through untouched.
const path = 'object/{objectId}';
const isOwn = (call: Call<'objectId'>) => objectOf(call).userId === call.caller.userId;

export const ePortfolioRoutes = [
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
