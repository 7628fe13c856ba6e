import { json } from '../http/answer.ts';
import { boolean, type Check, list, nullable, object, record, string } from '../http/bind.ts';
import { bindingError, notFound } from '../http/refusal.ts';
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
      const fields = linkIn(await call.json());
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
  CustomParameters: nullable(list(object({ Name: string, Value: string }))),
});

/** The flags of what is sent to the tool all begin alike; there is at least one, and none may be left open. */
function linkIn(body: unknown): Record<string, unknown> {
  const link = linkBody(body, '');
  const flags = Object.entries(record(body, '')).filter(([name]) => name.startsWith('Send'));
  if (flags.length === 0) throw bindingError('the Send… flags must be present');
  for (const [name, value] of flags) boolean(value, name);
  return { ...link, ...Object.fromEntries(flags) };
}
