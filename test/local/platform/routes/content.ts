import * as z from 'zod';
import { json, ok } from '../http/answer.ts';
import { bind, date } from '../http/bind.ts';
import { malformed, partsOf } from '../http/multipart.ts';
import { bindingError, namelessErrors } from '../http/refusal.ts';
import { filePart, jsonPart, keptFileAnswer, receiveOnlyFile, type StoredFile } from '../http/upload.ts';
import { type Call, found, foundIn, route } from '../route.ts';
import type { Row } from '../state.ts';
import { filesOut } from './dropbox.ts';

const filePath = 'le/{orgUnitId}/content/topics/{topicId}/file';
const fileTopic = 1;
const linkTopic = 3;

export const contentRoutes = [
  route(`GET ${filePath}`, { scope: 'content:modules:read', permission: 'SeeContent' }, (call) =>
    keptFileAnswer(found(fileTopicOf(call).file ?? undefined, 'Topic file')),
  ),

  route(`PUT ${filePath}`, { scope: 'content:file:write', permission: 'ManageContent' }, async (call) => {
    fileTopicOf(call);
    const file = await receiveOnlyFile(call, 'file');
    const topic = fileTopicOf(call);
    call.tables.topics.put({ ...topic, file, writes: topic.writes + 1 });
    return ok;
  }),

  route(
    'POST le/{orgUnitId}/content/modules/{moduleId}/structure/',
    { scope: 'content:modules:manage', permission: 'ManageContent' },
    async (call) => {
      foundIn(call, call.tables.modules.get(call.ids.moduleId), 'Module');
      const isMultipart = call.request.headers['content-type']?.startsWith('multipart/') === true;
      const topic = isMultipart ? await fileTopicIn(call) : await linkTopicIn(call);
      const made = { topicId: call.world.state.nextId(), ...call.ids, ...topic, writes: 1 };
      return json(topicOut(call.tables.topics.put(made)));
    },
  ),

  route(
    'POST le/{orgUnitId}/news/',
    { scope: 'news:newsitems:manage', permission: 'ManageNews' },
    async ({ ids, world, tables, request }) => {
      const attachments: StoredFile[] = [];
      let fields: z.output<typeof newsItemBody> | undefined;
      for await (const part of partsOf(request, 'mixed')) {
        if (fields === undefined) fields = bind(newsItemBody, await jsonPart(part));
        else attachments.push(await filePart(part, ''));
      }
      if (fields === undefined) throw malformed('the news item is missing');
      const { newsItemId } = tables.newsItems.put({
        newsItemId: world.state.nextId(),
        orgUnitId: ids.orgUnitId,
        fields,
        attachments,
      });
      return json({ Id: newsItemId, ...fields, Attachments: filesOut(attachments) });
    },
  ),
];

function fileTopicOf(call: Call<'orgUnitId' | 'topicId'>): Row<'topics'> {
  const topic = call.tables.topics.get(call.ids.topicId);
  return foundIn(call, topic?.topicType === fileTopic ? topic : undefined, 'File topic');
}

const title = z.string().regex(/\S/);
const optionalDate = date.nullable().default(null);

const topicBody = z
  .object({
    Title: title,
    ShortTitle: z.string(),
    Type: z.literal(1),
    TopicType: z.literal([fileTopic, linkTopic]),
    Url: z.string().nullable().default(null),
    IsHidden: z.boolean(),
    IsLocked: z.boolean().default(false),
    StartDate: optionalDate,
    EndDate: optionalDate,
    DueDate: optionalDate,
  })
  .transform((given) => ({
    title: given.Title,
    shortTitle: given.ShortTitle,
    topicType: given.TopicType,
    url: given.Url,
    isHidden: given.IsHidden,
    isLocked: given.IsLocked,
    startDate: given.StartDate,
    endDate: given.EndDate,
    dueDate: given.DueDate,
  }));

async function linkTopicIn(call: Call) {
  const topic = bind(topicBody, await call.json());
  if (topic.topicType !== linkTopic) throw bindingError('TopicType must be 3 where no file comes along');
  if (topic.url === null || topic.url === '') throw bindingError('Url must be a string');
  return { ...topic, file: null };
}

/** Where the files of a course lie; it takes no new one for another place. */
function isOwnPlace(url: string | null, orgUnit: Row<'orgUnits'> | undefined): boolean {
  const folder = `/content/enforced/${orgUnit?.orgUnitId}-${orgUnit?.code}/`;
  return url?.startsWith(folder) === true && /^[^\p{Cc}]+$/u.test(url.slice(folder.length));
}

async function fileTopicIn({ request, world, tables, ids }: Call<'orgUnitId'>) {
  let topic: z.output<typeof topicBody> | undefined;
  let file: StoredFile | undefined;
  for await (const part of partsOf(request, 'mixed')) {
    if (file !== undefined) throw malformed('a topic has one file');
    if (topic === undefined) topic = bind(topicBody, await jsonPart(part));
    else file = await filePart(part, '', world.site.spool);
  }
  if (topic === undefined || file === undefined) throw malformed('the file is missing');
  if (topic.topicType !== fileTopic) throw bindingError('TopicType must be 1 where a file comes along');
  if (!isOwnPlace(topic.url, tables.orgUnits.get(ids.orgUnitId))) throw namelessErrors();
  return { ...topic, file };
}

function topicOut({ topicId, moduleId, ...topic }: Row<'topics'>) {
  return {
    Id: topicId,
    ParentModuleId: moduleId,
    Type: 1,
    TopicType: topic.topicType,
    Title: topic.title,
    ShortTitle: topic.shortTitle,
    Url: topic.url,
    IsHidden: topic.isHidden,
    IsLocked: topic.isLocked,
    StartDate: topic.startDate,
    EndDate: topic.endDate,
    DueDate: topic.dueDate,
  };
}

const newsItemBody = z.object({
  Title: title,
  Body: z.object({ Text: z.string(), Html: z.string().nullable() }),
  StartDate: date,
  EndDate: date.nullable(),
  IsGlobal: z.boolean(),
  IsPublished: z.boolean(),
  ShowOnlyInCourseOfferings: z.boolean(),
});
