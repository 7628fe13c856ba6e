import { json, ok } from '../http/answer.ts';
import { bind, record } from '../http/bind.ts';
import { type Call, found, route } from '../route.ts';
import type { Row } from '../state.ts';

// Neither paths nor shape of these objects are known: these are defaults, and the object passes through untouched.
const one = 'eP/object/{objectId}';
const own = (call: Call<'objectId'>) => objectOf(call).userId === call.caller.userId;

export const ePortfolioRoutes = [
  route(
    'POST eP/object/',
    { scope: 'core:*:*', permission: 'EditEPortfolio' },
    async ({ json: body, world, tables, caller }) => {
      const object = bind(record, await body());
      const objectId = world.state.nextId();
      // It becomes the caller's.
      tables.ePortfolioObjects.put({ objectId, userId: caller.userId, object, writes: 1 });
      return json({ ObjectId: objectId, ...object });
    },
  ),

  route(`GET ${one}`, { scope: 'core:*:*', permission: 'SeeEPortfolio', own }, (call) =>
    json(objectOf(call).object),
  ),

  route(`PUT ${one}`, { scope: 'core:*:*', permission: 'EditEPortfolio', own }, async (call) => {
    const object = bind(record, await call.json());
    const stored = objectOf(call);
    call.tables.ePortfolioObjects.put({ ...stored, object, writes: stored.writes + 1 });
    return ok;
  }),
];

const objectOf = ({ ids, tables }: Call<'objectId'>): Row<'ePortfolioObjects'> =>
  found(tables.ePortfolioObjects.get(ids.objectId), 'ePortfolio object');
