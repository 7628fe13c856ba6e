import type { Platform } from '../client/client.ts';
import type { Use } from '../client/download.ts';
import { filePart, jsonPart, multipart, type UploadedFile } from '../client/multipart.ts';
import { acknowledged, downloading } from '../client/operation.ts';

type TopicIds = { orgUnitId: number; topicId: number };

export const getTopicFile = downloading({
  name: 'read-topic-file',
  call: 'GET /le/{orgUnitId}/content/topics/{topicId}/file',
  scope: 'content:modules:read',
});

export const readTopicFile = <Result>(platform: Platform, ids: TopicIds, use: Use<Result>) =>
  platform.download(getTopicFile, { path: ids }, use);

export const putTopicFile = acknowledged({
  name: 'replace-topic-file',
  call: 'PUT /le/{orgUnitId}/content/topics/{topicId}/file',
  scope: 'content:file:write',
  // It replaces the file.
  repeatable: true,
});

/** Replaces the file of a content topic. `openFile` is called each time that the body is sent. */
export const replaceTopicFile = (platform: Platform, ids: TopicIds, openFile: () => Promise<UploadedFile>) =>
  platform.call(putTopicFile, {
    path: ids,
    payload: async () => multipart('form-data', [filePart({ name: 'file', ...(await openFile()) })]),
  });

export const postTopic = acknowledged({
  name: 'add-topic',
  call: 'POST /le/{orgUnitId}/content/modules/{moduleId}/structure/',
  scope: 'content:modules:manage',
  // Each call adds one more topic.
  repeatable: false,
});

type ModuleIds = { orgUnitId: number; moduleId: number };

export type NewTopic = {
  Title: string;
  ShortTitle?: string;
  IsHidden?: boolean;
  IsLocked?: boolean;
  StartDate?: string | null;
  EndDate?: string | null;
  DueDate?: string | null;
};

/** Adds a topic that leads to an address. */
export const addLinkTopic = (platform: Platform, ids: ModuleIds, topic: NewTopic & { Url: string }) =>
  platform.call(postTopic, { path: ids, json: { ...topicBody(topic), TopicType: 3 } });

/** The folder of an org unit's files. */
const filesOf = (orgUnitId: number): string => `/content/enforced/${orgUnitId}-`;

/** Where the platform accepts a new file of an org unit; for any other place it answers 400 without a reason. */
export const fileUrl = ({ orgUnitId, code }: { orgUnitId: number; code: string }, fileName: string): string =>
  `${filesOf(orgUnitId)}${code}/${asSegment(fileName)}`;

/** Whether a file can be kept there: in the folder of this org unit alone, even if the address is decoded once more. */
export const isFileUrl = (url: string, orgUnitId: number): boolean =>
  url.startsWith(filesOf(orgUnitId)) &&
  !/\\|%(2[ef5]|5c|[01][\da-f]|7f)/i.test(url) &&
  /^[^/\p{Cc}]+(\/(?!\.{1,2}(\/|$))[^/\p{Cc}]+)+$/u.test(url.slice(filesOf(orgUnitId).length));

/** A name may have characters that mean another path, a query or an escape. */
const asSegment = (name: string): string =>
  name.replace(/[\p{Cc}/\\?#%:*"<>|]/gu, '-').replace(/^\.+$/, 'file');

/** Adds a file topic; the platform keeps the file under `Url`. */
export const addFileTopic = (
  platform: Platform,
  ids: ModuleIds,
  { topic, openFile }: { topic: NewTopic & { Url: string }; openFile(): Promise<UploadedFile> },
) =>
  platform.call(postTopic, {
    path: ids,
    payload: async () =>
      multipart('mixed', [
        jsonPart({ ...topicBody(topic), TopicType: 1 }),
        filePart({ name: '', ...(await openFile()) }),
      ]),
  });

const topicBody = (topic: NewTopic & { Url: string }) => {
  const { Title, ShortTitle = '', Url, IsHidden = false, IsLocked = false } = topic;
  const [StartDate, EndDate, DueDate] = [topic.StartDate, topic.EndDate, topic.DueDate].map(
    (time) => time && new Date(time).toISOString(),
  );
  return {
    Title,
    ShortTitle,
    Type: 1,
    Url,
    IsHidden,
    IsLocked,
    StartDate: StartDate ?? null,
    EndDate: EndDate ?? null,
    DueDate: DueDate ?? null,
  };
};
