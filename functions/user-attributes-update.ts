import * as z from 'zod';
import { longText, shortText } from '../lib/delivery/handle/fields/text.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { platformId } from '../lib/message/message.ts';
import { id, privacy } from '../lib/message/privacy.ts';
import { identityOf } from '../lib/message/version.ts';
import { capitalised } from '../lib/platform/client/capitalised.ts';
import {
  createDemographicsField,
  postDemographicsField,
  putUserAttributes,
  updateUserAttributes,
} from '../lib/platform/resources/user-attributes.ts';

const optional = z.exactOptional;
const text = shortText.regex(/\S/, 'must not be empty');
const attributeId = text.clone().register(privacy, id);
const attribute = z.strictObject({
  attributeId,
  value: z.array(longText).max(1_000, 'must have at most 1,000 values'),
});
const attributes = z
  .array(attribute)
  .max(1_000, 'must name at most 1,000 attributes')
  .refine((all) => new Set(all.map(({ attributeId }) => attributeId)).size === all.length, {
    error: 'must name each attribute once',
  });
const field = z.strictObject({
  name: text,
  description: longText,
  dataTypeId: z.guid('must be a GUID such as 6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e01').register(privacy, id),
});
const data = z
  .strictObject({ userId: optional(platformId), attributes: optional(attributes), field: optional(field) })
  .refine(
    ({ userId, attributes, field }) =>
      (userId === undefined) === (attributes === undefined) &&
      (userId === undefined) !== (field === undefined),
    'must have either userId and attributes, or field',
  );

/** Replaces all extended attributes of a user with the given ones, or creates a demographics field. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'user-attributes-update',
  data,
  resource: ({ userId }, message) =>
    userId === undefined ? `demographics-field/${identityOf(message)}` : `user-attributes/${userId}`,
  changes: ['user-attributes', 'demographics-field'],
  operations: [putUserAttributes, postDemographicsField],
  repeatable: ({ field }) => field === undefined,
  run: async ({ userId, attributes, field }, { platform }) => {
    if (field) await createDemographicsField(platform, capitalised(field));
    if (userId && attributes) await updateUserAttributes(platform, userId, attributes.map(capitalised));
  },
  verify: {
    subject: () => "a demographics field with this message's name",
    // No known call lists fields.
  },
};

export const handler = handlerOf(integration);
