import { json } from '../http/answer.ts';
import { boolean, type Check, list, nullable, object, string } from '../http/bind.ts';
import { notFound } from '../http/refusal.ts';
import { richTextIn } from '../rich-text.ts';
import { type Call, route } from '../route.ts';
import type { LtiLink } from '../state.ts';

export const ltiLinkRoutes = [
  route({
    method: 'PUT',
    component: 'le',
    path: 'lti/link/{linkId}',
    scope: 'lti:links:update',
    permission: 'ManageLtiLinks',
    where: (call) => linkOf(call).orgUnitId,
    async handle(call) {
      const fields = linkIn(await call.json(), call.world.settings.ltiVendorFlags);
      const { linkId, orgUnitId, writes } = linkOf(call);
      call.state.tables.ltiLinks.put({ linkId, orgUnitId, fields, writes: writes + 1 });
      const { PlainSecret, ...shown } = fields;
      return json({ LtiLinkId: linkId, OrgUnitId: orgUnitId, ...shown });
    },
  }),
];

function linkOf({ ids, state }: Call<'linkId'>): LtiLink {
  const link = state.tables.ltiLinks.get(ids.linkId);
  if (link === undefined) throw notFound('LTI link');
  return link;
}

const description: Check<unknown> = (value, where) =>
  value === null || typeof value === 'string' ? value : richTextIn(value, where) && value;

const linkBody = object({
  Title: string,
  Url: string,
  Description: description,
  Key: string,
  PlainSecret: string,
  IsVisible: boolean,
  SignMessage: boolean,
  SignWithTc: boolean,
  SendTcInfo: boolean,
  SendContextInfo: boolean,
  SendUserId: boolean,
  SendUserName: boolean,
  SendUserEmail: boolean,
  SendLinkTitle: boolean,
  SendLinkDescription: boolean,
  UseToolProviderSecuritySettings: boolean,
  CustomParameters: nullable(list(object({ Name: string, Value: string }))),
});

/** All of it must be there, the flags that are named after the platform's vendor as well. */
function linkIn(body: unknown, vendorFlags: string[]): Record<string, unknown> {
  const flags = object(Object.fromEntries(vendorFlags.map((name) => [name, boolean])));
  return { ...linkBody(body, ''), ...flags(body, '') };
}
