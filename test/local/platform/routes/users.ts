import * as z from 'zod';
import { json, ok } from '../http/answer.ts';
import { bind, id } from '../http/bind.ts';
import { badRequest, bindingError, internalServerError } from '../http/refusal.ts';
import { keptFileAnswer, receiveOnlyFile } from '../http/upload.ts';
import { type Call, found, ownPath, route } from '../route.ts';

const image = 'lp/profile/user/{userId}/image';
const attributes = 'lp/attributes/users/{userId}';

export const userRoutes = [
  route('GET lp/users/whoami', { scope: null, permission: null }, ({ caller }) =>
    json({
      Identifier: String(caller.userId),
      ProfileIdentifier: `profile-${caller.userId}`,
      FirstName: caller.firstName,
      LastName: caller.lastName,
      UniqueName: caller.userName,
    }),
  ),

  route(`GET ${image}`, { scope: 'core:*:*', permission: 'SeeProfiles', own: ownPath }, (call) =>
    keptFileAnswer(found(call.tables.profileImages.get(userIdOf(call)), 'Profile image')),
  ),

  route(`POST ${image}`, { scope: 'core:*:*', permission: 'EditProfiles', own: ownPath }, async (call) => {
    const userId = userIdOf(call);
    const { profileImages } = call.tables;
    const file = await receiveOnlyFile(call, 'profileImage');
    if (!file.contentType.startsWith('image/')) throw badRequest('A profile image must be an image');
    profileImages.put({ userId, ...file, writes: (profileImages.get(userId)?.writes ?? 0) + 1 });
    return ok;
  }),

  route(
    `GET ${attributes}`,
    { scope: 'attributes:users:read', permission: 'SeeUserAttributes', own: ownPath },
    (call) => {
      const UserId = userIdOf(call);
      const held = call.tables.userAttributes.get(UserId)?.attributes ?? [];
      const Attributes = held.map(({ attributeId, value }) => ({ AttributeId: attributeId, Value: value }));
      return json({ UserId, Attributes });
    },
  ),

  route(
    `PUT ${attributes}`,
    { scope: 'attributes:users:update', permission: 'EditUserAttributes' },
    async (call) => {
      const userId = userIdOf(call);
      const { UserId, Attributes } = bind(attributesBody, await call.json());
      if (UserId !== userId) throw bindingError('UserId must be that of the path');
      const { userAttributes } = call.tables;
      const attributes = Attributes.map((one) => ({ attributeId: one.AttributeId, value: one.Value }));
      userAttributes.put({ userId, attributes, writes: (userAttributes.get(userId)?.writes ?? 0) + 1 });
      return ok;
    },
  ),

  route(
    'GET lp/demographics/dataTypes/',
    { scope: 'core:*:*', permission: 'SeeDemographics' },
    ({ tables }) =>
      json(
        tables.demographicsDataTypes
          .all()
          .map(({ dataTypeId: DataTypeId, name: Name }) => ({ DataTypeId, Name })),
      ),
  ),

  route(
    'POST lp/demographics/fields/',
    { scope: 'core:*:*', permission: 'ManageDemographics' },
    async ({ world, tables, json: body }) => {
      const { Name, Description, DataTypeId } = bind(fieldBody, await body());
      // A well-formed request is known to have been answered with a 500: so it is here, until told otherwise.
      if (world.settings.demographicsFields === 'fail')
        throw internalServerError('An unexpected error occurred');
      const dataTypeId = DataTypeId.toLowerCase();
      found(tables.demographicsDataTypes.get(dataTypeId), 'Data type');
      const fieldId = world.state.nextId();
      tables.demographicsFields.put({ fieldId, name: Name, description: Description, dataTypeId });
      return json({ FieldId: fieldId, Name, Description, DataTypeId });
    },
  ),
];

function userIdOf({ ids, tables }: Call<'userId'>): number {
  return found(tables.users.get(ids.userId), 'User').userId;
}

const attributesBody = z.object({
  UserId: id,
  Attributes: z.array(z.object({ AttributeId: z.string(), Value: z.array(z.string()) })),
});

const fieldBody = z.object({ Name: z.string(), Description: z.string(), DataTypeId: z.guid() });
