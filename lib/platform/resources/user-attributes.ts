import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { acknowledged, reading } from '../client/operation.ts';

const attributes = { component: 'lp', path: '/attributes/users/{userId}', repeatable: true } as const;

const attribute = z.looseObject({ AttributeId: z.string(), Value: z.array(z.string()) });

export type UserAttribute = { AttributeId: string; Value: string[] };

export const getUserAttributes = reading({
  ...attributes,
  name: 'read-user-attributes',
  method: 'GET',
  scope: 'attributes:users:read',
  answer: z.looseObject({ Attributes: z.array(attribute) }),
});

export const readUserAttributes = async (platform: Platform, userId: number) =>
  (await platform.call(getUserAttributes, { path: { userId } })).Attributes;

export const putUserAttributes = acknowledged({
  ...attributes,
  name: 'update-user-attributes',
  method: 'PUT',
  scope: 'attributes:users:update',
});

/** Replaces a user's extended profile attributes. It is not documented whether omitted ones are kept: send them all. */
export const updateUserAttributes = (platform: Platform, userId: number, given: UserAttribute[]) =>
  platform.call(putUserAttributes, { path: { userId }, json: { UserId: userId, Attributes: given } });
