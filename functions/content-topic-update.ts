import * as z from 'zod';
import { namedFile, openNamedFile } from '../lib/delivery/handle/fields/named-file.ts';
import { maxUrlLength, shortText, time } from '../lib/delivery/handle/fields/text.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { MessageFailure } from '../lib/message/failure.ts';
import { platformId } from '../lib/message/message.ts';
import { safe } from '../lib/message/safe-text.ts';
import { identityOf } from '../lib/message/version.ts';
import { capitalised } from '../lib/platform/client/capitalised.ts';
import type { Platform } from '../lib/platform/client/client.ts';
import * as content from '../lib/platform/resources/content.ts';
import { getOrgUnit, requireOrgUnit } from '../lib/platform/resources/org-units.ts';

const optional = z.exactOptional;
// Security: a link with another scheme could run code in the page of the user who follows it.
const url = z
  .string()
  .max(maxUrlLength, 'must be at most 8,192 characters')
  .regex(/^(https?:\/\/[^\s/]|\/)\S*$/i, 'must begin with https://, http:// or /');
const topic = z
  .strictObject({
    title: shortText.regex(/\S/, 'must not be empty'),
    shortTitle: optional(shortText),
    isHidden: optional(z.boolean()),
    isLocked: optional(z.boolean()),
    startDate: optional(time),
    endDate: optional(time),
    dueDate: optional(time),
    url: optional(url),
    file: optional(namedFile),
    /** Where the platform stores the file. */
    fileUrl: optional(z.string().max(1_024)),
  })
  .refine((given) => (given.url === undefined) !== (given.file === undefined), 'must have either url or file')
  .refine((given) => given.fileUrl === undefined || given.file !== undefined, {
    path: ['fileUrl'],
    error: 'must be given together with a file',
  });
const added = z
  .strictObject({ action: z.literal('add'), orgUnitId: platformId, moduleId: platformId, topic })
  .refine(
    ({ orgUnitId, topic: { fileUrl } }) => fileUrl === undefined || content.isFileUrl(fileUrl, orgUnitId),
    {
      path: ['topic', 'fileUrl'],
      error: 'must be a path such as /content/enforced/<orgUnitId>-<code of the org unit>/<file>',
    },
  );
const data = z.discriminatedUnion('action', [
  added,
  z.strictObject({
    action: z.literal('replace-file'),
    orgUnitId: platformId,
    topicId: platformId,
    file: namedFile,
  }),
]);

/** The path of a new file, by the code of its org unit. */
const fileUrlOf = async (platform: Platform, orgUnitId: number, fileName: string): Promise<string> => {
  const { Code: code } = await requireOrgUnit(platform, orgUnitId);
  if (code) return content.fileUrl({ orgUnitId, code }, fileName);
  throw new MessageFailure('rejected', safe`The platform shows no code for org unit ${orgUnitId}`, {
    remedy: `The path of a new file contains this code. Set data.topic.fileUrl to /content/enforced/${orgUnitId}-<code>/<file>, then replay.`,
  });
};

/** Adds a topic (a link or a file) to a module, or replaces the file of a topic. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'content-topic-update',
  data,
  resource: (data, message) =>
    data.action === 'add' ? `topic/${identityOf(message)}` : `topic-file/${data.topicId}`,
  changes: ['topic', 'topic-file'],
  files: true,
  operations: [content.postTopic, content.putTopicFile, getOrgUnit],
  repeatable: ({ action }) => action === 'replace-file',
  run: async (data, context) => {
    const { platform } = context;
    if (data.action === 'replace-file')
      return content.replaceTopicFile(platform, data, () => openNamedFile(data.file, context));
    const { url, file, fileUrl, ...settings } = data.topic;
    const topic = capitalised(settings);
    if (url !== undefined) return content.addLinkTopic(platform, data, { ...topic, Url: url });
    if (file === undefined) return;
    const Url = fileUrl ?? (await fileUrlOf(platform, data.orgUnitId, file.name));
    return content.addFileTopic(platform, data, {
      topic: { ...topic, Url },
      openFile: () => openNamedFile(file, context),
    });
  },
  verify: {
    subject: (data) =>
      data.action === 'add'
        ? `a topic with this message's title in module ${data.moduleId} of org unit ${data.orgUnitId}`
        : `the file of topic ${data.topicId}`,
    // No known call lists topics.
  },
};

export const handler = handlerOf(integration);
