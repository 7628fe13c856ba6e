import * as z from 'zod';
import { handlerOf } from '../lib/handler.ts';
import type { Integration } from '../lib/integration.ts';
import { platformId } from '../lib/message.ts';
import { namedFile, openNamedFile } from '../lib/named-file.ts';
import { capitalised } from '../lib/platform/capitalised.ts';
import * as content from '../lib/platform/content.ts';

const may = z.exactOptional;
const time = z.iso.datetime({ offset: true, error: 'must be a time as in 2026-01-31T09:30:00Z' });
// What lies behind other schemes could run in the page of whoever follows the link.
const url = z.string().regex(/^(https?:\/\/[^\s/]|\/)\S*$/i, 'must begin with https://, http:// or /');
const topic = z
  .strictObject({
    ...{ title: z.string().regex(/\S/, 'must not be empty'), shortTitle: may(z.string()) },
    ...{ isHidden: may(z.boolean()), isLocked: may(z.boolean()) },
    ...{ startDate: may(time), endDate: may(time), dueDate: may(time) },
    ...{ url: may(url), file: may(namedFile) },
  })
  .refine(
    (given) => (given.url === undefined) !== (given.file === undefined),
    'must have either url or file',
  );
const data = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('add'), orgUnitId: platformId, moduleId: platformId, topic }),
  z.strictObject({
    ...{ action: z.literal('replace-file'), orgUnitId: platformId, topicId: platformId, file: namedFile },
  }),
]);

/** Adds a topic, which is a link or a file, to a module; or replaces the file of one. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'content-topic-update',
  data,
  key: (data, { source, id }) => (data.action === 'add' ? `${source} ${id}` : `topics/${data.topicId}`),
  operations: [content.postTopic, content.putTopicFile],
  repeatable: ({ action }) => action === 'replace-file',
  run: async (data, world) => {
    const { platform } = world;
    if (data.action === 'replace-file')
      return content.replaceTopicFile(platform, data, () => openNamedFile(data.file, world));
    const { url, file, ...settings } = data.topic;
    const topic = capitalised(settings);
    if (url !== undefined) return content.addLinkTopic(platform, data, { ...topic, Url: url });
    if (file !== undefined)
      return content.addFileTopic(platform, data, { topic, openFile: () => openNamedFile(file, world) });
  },
  verify: {
    subject: (data) =>
      data.action === 'add'
        ? `a topic with this message's title in module ${data.moduleId} of org unit ${data.orgUnitId}`
        : `the file of topic ${data.topicId}`,
    // The platform lists no topics.
  },
};

export const handler = handlerOf(integration);
