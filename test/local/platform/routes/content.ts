import { json, ok } from '../http/answer.ts';
import { boolean, date, nullable, object, oneOf, or, string } from '../http/bind.ts';
import { keep, keptFileAnswer, receiveOnlyFile } from '../http/kept-file.ts';
import { malformed, partsOf } from '../http/multipart.ts';
import { bindingError, namelessErrors, notFound } from '../http/refusal.ts';
import { jsonPart, type KeptFile, keptFilePart } from '../http/upload.ts';
import { type Call, route } from '../route.ts';
import type { OrgUnit, Topic } from '../state.ts';

const filePath = '{orgUnitId}/content/topics/{topicId}/file';
const fileTopic = 1;
const linkTopic = 3;

export const contentRoutes = [
  route({
    method: 'GET',
    component: 'le',
    path: filePath,
    scope: 'content:modules:read',
    permission: 'SeeContent',
    handle(call) {
      const { file } = fileTopicOf(call);
      if (file === null) throw notFound('Topic file');
      return keptFileAnswer(call.state, file);
    },
  }),

  route({
    method: 'PUT',
    component: 'le',
    path: filePath,
    scope: 'content:file:write',
    permission: 'ManageContent',
    async handle(call) {
      fileTopicOf(call);
      const file = await receiveOnlyFile(call, 'file');
      const topic = fileTopicOf(call);
      call.state.tables.topics.put({ ...topic, file, writes: topic.writes + 1 });
      return ok;
    },
  }),

  route({
    method: 'POST',
    component: 'le',
    path: '{orgUnitId}/content/modules/{moduleId}/structure/',
    scope: 'content:modules:manage',
    permission: 'ManageContent',
    async handle(call) {
      const { moduleId, orgUnitId } = call.ids;
      if (call.state.tables.modules.get(moduleId)?.orgUnitId !== orgUnitId) throw notFound('Module');
      const { topic, file } = isMultipart(call) ? await fileTopicIn(call) : await linkTopicIn(call);
      if (file !== null) keep(call.state, file);
      const stored = {
        topicId: call.state.nextId(),
        orgUnitId,
        moduleId,
        ...topic,
        file: file?.stored ?? null,
      };
      return json(topicOut(call.state.tables.topics.put({ ...stored, writes: 1 })));
    },
  }),
];

function fileTopicOf({ ids, state }: Call<'orgUnitId' | 'topicId'>): Topic {
  const topic = state.tables.topics.get(ids.topicId);
  if (topic?.orgUnitId !== ids.orgUnitId || topic.topicType !== fileTopic) throw notFound('File topic');
  return topic;
}

const isMultipart = ({ request }: Call) => request.headers['content-type']?.startsWith('multipart/') === true;
const optionalDate = or(nullable(date), null);

const topicBody = object({
  Title: string,
  ShortTitle: string,
  Type: oneOf(1),
  TopicType: oneOf(fileTopic, linkTopic),
  Url: or(nullable(string), null),
  IsHidden: boolean,
  IsLocked: or(boolean, false),
  StartDate: optionalDate,
  EndDate: optionalDate,
  DueDate: optionalDate,
});

function topicIn(body: unknown) {
  const { Title, ShortTitle, TopicType, Url, IsHidden, IsLocked, StartDate, EndDate, DueDate } = topicBody(
    body,
    '',
  );
  if (Title.trim() === '') throw bindingError('Title must not be empty');
  return {
    ...{ title: Title, shortTitle: ShortTitle, topicType: TopicType, url: Url, isHidden: IsHidden },
    ...{ isLocked: IsLocked, startDate: StartDate, endDate: EndDate, dueDate: DueDate },
  };
}

async function linkTopicIn(call: Call) {
  const topic = topicIn(await call.json());
  if (topic.topicType !== linkTopic) throw bindingError('TopicType must be 3 where no file comes along');
  if (topic.url === null || topic.url === '') throw bindingError('Url must be a string');
  return { topic, file: null };
}

/** Where the files of a course lie; it takes no new one for another place. */
function isOwnPlace(url: string | null, orgUnit: OrgUnit | undefined): boolean {
  const folder = `/content/enforced/${orgUnit?.orgUnitId}-${orgUnit?.code}/`;
  return url?.startsWith(folder) === true && /^[^\p{Cc}]+$/u.test(url.slice(folder.length));
}

async function fileTopicIn({ request, world, state, ids }: Call) {
  let topic: ReturnType<typeof topicIn> | undefined;
  let file: KeptFile | undefined;
  for await (const part of partsOf(request, 'mixed')) {
    if (file !== undefined) throw malformed('a topic has one file');
    if (topic === undefined) topic = topicIn(await jsonPart(part));
    else file = await keptFilePart(part, { field: '', spool: world.site.spool });
  }
  if (topic === undefined || file === undefined) throw malformed('the file is missing');
  if (topic.topicType !== fileTopic) throw bindingError('TopicType must be 1 where a file comes along');
  if (!isOwnPlace(topic.url, state.tables.orgUnits.get(ids.orgUnitId ?? 0))) throw namelessErrors();
  return { topic, file };
}

function topicOut({ topicId, moduleId, ...topic }: Topic) {
  return {
    ...{ Id: topicId, ParentModuleId: moduleId, Type: 1, TopicType: topic.topicType },
    ...{ Title: topic.title, ShortTitle: topic.shortTitle, Url: topic.url },
    ...{ IsHidden: topic.isHidden, IsLocked: topic.isLocked },
    ...{ StartDate: topic.startDate, EndDate: topic.endDate, DueDate: topic.dueDate },
  };
}
