import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { listOf } from '../client/list-of.ts';
import { acknowledged, reading } from '../client/operation.ts';
import { itemsOf, pageOf } from './paging.ts';

const attribute = z.looseObject({ AttributeId: z.string(), Value: listOf(z.string()) });

export type UserAttribute = Pick<z.infer<typeof attribute>, 'AttributeId' | 'Value'>;

export const getUserAttributes = reading({
  name: 'read-user-attributes',
  call: 'GET /lp/attributes/users/{userId}',
  scope: 'attributes:users:read',
  answer: z.looseObject({ Attributes: listOf(attribute) }),
});

export const readUserAttributes = async (platform: Platform, userId: number) =>
  (await platform.call(getUserAttributes, { path: { userId } })).Attributes;

export const putUserAttributes = acknowledged({
  name: 'update-user-attributes',
  call: 'PUT /lp/attributes/users/{userId}',
  scope: 'attributes:users:update',
  repeatable: true,
});

/** Replaces a user's extended profile attributes. It is not documented whether omitted ones are kept: send them all. */
export const updateUserAttributes = (platform: Platform, userId: number, given: UserAttribute[]) =>
  platform.call(putUserAttributes, { path: { userId }, json: { UserId: userId, Attributes: given } });

export const getDemographicsDataTypes = reading({
  name: 'list-demographics-data-types',
  call: 'GET /lp/demographics/dataTypes/',
  scope: 'core:*:*',
  answer: pageOf(z.looseObject({ DataTypeId: z.string() })),
});

export const listDemographicsDataTypes = (platform: Platform) => itemsOf(platform, getDemographicsDataTypes);

export const postDemographicsField = reading({
  name: 'create-demographics-field',
  call: 'POST /lp/demographics/fields/',
  scope: 'core:*:*',
  // Each call creates one more. Platforms are known to answer 500 to it.
  repeatable: false,
  answer: z.looseObject({ FieldId: z.union([z.number(), z.string()]) }),
});

/** `DataTypeId` is a GUID. */
export const createDemographicsField = (
  platform: Platform,
  field: { Name: string; Description: string; DataTypeId: string },
) => platform.call(postDemographicsField, { json: field });
