import { json, ok } from '../http/answer.ts';
import { id, list, object, string } from '../http/bind.ts';
import { bindingError, notFound } from '../http/refusal.ts';
import { type Call, ownPath, route } from '../route.ts';

const path = 'attributes/users/{userId}';

export const userAttributeRoutes = [
  route({
    method: 'GET',
    component: 'lp',
    path,
    scope: 'attributes:users:read',
    permission: 'SeeUserAttributes',
    own: ownPath,
    handle(call) {
      const userId = userIdOf(call);
      const attributes = call.state.tables.userAttributes.get(userId)?.attributes ?? [];
      const out = attributes.map(({ attributeId, value }) => ({ AttributeId: attributeId, Value: value }));
      return json({ UserId: userId, Attributes: out });
    },
  }),

  route({
    method: 'PUT',
    component: 'lp',
    path,
    scope: 'attributes:users:update',
    permission: 'EditUserAttributes',
    async handle(call) {
      const userId = userIdOf(call);
      const { UserId, Attributes } = attributesBody(await call.json(), '');
      if (UserId !== userId) throw bindingError('UserId must be that of the path');
      const { userAttributes } = call.state.tables;
      const attributes = Attributes.map(({ AttributeId, Value }) => ({
        attributeId: AttributeId,
        value: Value,
      }));
      userAttributes.put({ userId, attributes, writes: (userAttributes.get(userId)?.writes ?? 0) + 1 });
      return ok;
    },
  }),
];

const attributesBody = object({
  UserId: id,
  Attributes: list(object({ AttributeId: string, Value: list(string) })),
});

function userIdOf({ ids, state }: Call<'userId'>): number {
  if (state.tables.users.get(ids.userId) === undefined) throw notFound('User');
  return ids.userId;
}
