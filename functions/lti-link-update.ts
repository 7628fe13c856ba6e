import * as z from 'zod';
import { longText, maxUrlLength, shortText } from '../lib/delivery/handle/fields/text.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { platformId } from '../lib/message/message.ts';
import { safe } from '../lib/message/safe-text.ts';
import { capitalised } from '../lib/platform/client/capitalised.ts';
import { type LtiLink, putLtiLink, sendFlags, updateLtiLink } from '../lib/platform/resources/lti-links.ts';

const flag = z.string().regex(/^(?!send[A-Z])[a-z][A-Za-z0-9]{0,63}$/);
const maxFlags = 100;
const sendNames = sendFlags.map((name) => name.replace(/^Send./, (start) => start.slice(4).toLowerCase()));
const data = z.strictObject({
  linkId: platformId,
  title: shortText.regex(/\S/, 'must not be empty'),
  url: z
    .url({ protocol: /^https?$/, error: 'must begin with https:// or http://' })
    .max(maxUrlLength, 'must be at most 8,192 characters'),
  description: longText.nullable(),
  isVisible: z.boolean(),
  signMessage: z.boolean(),
  signWithTc: z.boolean(),
  useToolProviderSecuritySettings: z.boolean(),
  customParameters: z
    .array(z.strictObject({ name: shortText.min(1), value: longText }))
    .max(1_000, 'must name at most 1,000 parameters')
    .nullable(),
  /**
   * What the tool receives, as in `{userId: true, userEmail: false}`: the platform calls it SendUserId, SendUserEmail. Settings that
   * include the platform vendor's name are passed with the rest, under the names that the site uses.
   */
  send: z
    .record(flag, z.boolean(), {
      error: ({ code }) => (code === 'invalid_key' ? 'must be a name such as userId' : undefined),
    })
    .superRefine((flags, context) => {
      for (const name of sendNames)
        if (!Object.hasOwn(flags, name))
          context.addIssue({ code: 'custom', path: [name], message: 'is missing: must be true or false' });
    })
    .refine((flags) => Object.keys(flags).length <= maxFlags, `must name at most ${maxFlags} of them`)
    .meta({ required: sendNames, maxProperties: maxFlags }),
});

/** Comes from the link's secret, not from messages: queues and letters keep messages in clear text. */
const secret = z.object({ key: z.string().min(1), plainSecret: z.string().min(1) });

const sent = (flags: Record<string, boolean>): Pick<LtiLink, `Send${string}`> =>
  Object.fromEntries(
    Object.entries(capitalised(flags)).map(([name, value]) => [`Send${name}`, value]),
  ) as Pick<LtiLink, `Send${string}`>;

/** Replaces all settings of an LTI link. Its key and its shared secret come from Secrets Manager. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'lti-link-update',
  data,
  forbidden: ['key', 'secret', 'plainSecret', 'sharedSecret', 'consumerKey', 'password', 'token'],
  resource: ({ linkId }) => `lti-link/${linkId}`,
  changes: ['lti-link'],
  secrets: 'lti-links',
  operations: [putLtiLink],
  repeatable: true,
  run: async ({ linkId, send, customParameters, ...link }, { platform, readSecret }) => {
    const keys = await readSecret(safe`lti-links/${linkId}`, secret);
    await updateLtiLink(platform, linkId, {
      ...capitalised({ ...link, ...keys }),
      CustomParameters: customParameters?.map(capitalised) ?? null,
      ...sent(send),
    });
  },
};

export const handler = handlerOf(integration);
