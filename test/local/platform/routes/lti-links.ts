import * as z from 'zod';
import { json } from '../http/answer.ts';
import { bind } from '../http/bind.ts';
import { richTextBody } from '../rich-text.ts';
import { type Call, found, route } from '../route.ts';
import type { Row } from '../state.ts';

export const ltiLinkRoutes = [
  route(
    'PUT le/lti/link/{linkId}',
    { scope: 'lti:links:update', permission: 'ManageLtiLinks', where: (call) => linkOf(call).orgUnitId },
    async (call) => {
      const fields = linkIn(await call.json(), call.world.settings.ltiVendorFlags);
      const { linkId, orgUnitId, writes } = linkOf(call);
      call.tables.ltiLinks.put({ linkId, orgUnitId, fields, writes: writes + 1 });
      const { PlainSecret, ...shown } = fields;
      return json({ LtiLinkId: linkId, OrgUnitId: orgUnitId, ...shown });
    },
  ),
];

const linkOf = ({ ids, tables }: Call<'linkId'>): Row<'ltiLinks'> =>
  found(tables.ltiLinks.get(ids.linkId), 'LTI link');

const flags = (names: string[]) => z.object(Object.fromEntries(names.map((name) => [name, z.boolean()])));

const linkBody = z
  .object({
    Title: z.string(),
    Url: z.string(),
    Key: z.string(),
    PlainSecret: z.string(),
    Description: z.union([z.string(), richTextBody]).nullable(),
    CustomParameters: z.array(z.object({ Name: z.string(), Value: z.string() })).nullable(),
  })
  .extend(
    flags([
      'IsVisible',
      'SignMessage',
      'SignWithTc',
      'UseToolProviderSecuritySettings',
      'SendTcInfo',
      'SendContextInfo',
      'SendUserId',
      'SendUserName',
      'SendUserEmail',
      'SendLinkTitle',
      'SendLinkDescription',
    ]).shape,
  );

/** All of it must be there, the flags that are named after the platform's vendor as well. */
const linkIn = (body: unknown, vendorFlags: string[]): Record<string, unknown> =>
  bind(linkBody.extend(flags(vendorFlags).shape), body);
