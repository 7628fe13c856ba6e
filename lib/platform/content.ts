import type { Platform } from './client.ts';
import type { Use } from './download.ts';
import { instant } from './instant.ts';
import { filePart, jsonPart, multipart, type UploadedFile } from './multipart.ts';
import { downloading, operation } from './operation.ts';

type TopicIds = { orgUnitId: number; topicId: number };

const file = {
  component: 'le',
  path: '/{orgUnitId}/content/topics/{topicId}/file',
  repeatable: true,
} as const;

export const getTopicFile = downloading({
  ...file,
  name: 'read-topic-file',
  method: 'GET',
  scope: 'content:modules:read',
});

/** The file of a content topic, handed to `use` as it comes. */
export const readTopicFile = <Result>(platform: Platform, ids: TopicIds, use: Use<Result>) =>
  platform.download(getTopicFile, { path: ids }, use);

// It puts one file in the place of another, so that it may be sent twice.
export const putTopicFile = operation({
  ...file,
  name: 'replace-topic-file',
  method: 'PUT',
  scope: 'content:file:write',
});

/** Replaces the file of a content topic. `openFile` is asked for each time that the body is sent. */
export const replaceTopicFile = (platform: Platform, ids: TopicIds, openFile: () => Promise<UploadedFile>) =>
  platform.call(putTopicFile, {
    path: ids,
    payload: async () => multipart('form-data', [filePart({ name: 'file', ...(await openFile()) })]),
  });

export const postTopic = operation({
  name: 'add-topic',
  method: 'POST',
  component: 'le',
  path: '/{orgUnitId}/content/modules/{moduleId}/structure/',
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

/** Adds a topic that is a file. The platform keeps it under `Url`, where that is given. */
export const addFileTopic = (
  platform: Platform,
  ids: ModuleIds,
  { topic, openFile }: { topic: NewTopic & { Url?: string }; openFile(): Promise<UploadedFile> },
) =>
  platform.call(postTopic, {
    path: ids,
    payload: async () =>
      multipart('mixed', [
        jsonPart({ ...topicBody(topic), TopicType: 1 }),
        filePart({ name: '', ...(await openFile()) }),
      ]),
  });

const topicBody = (topic: NewTopic & { Url?: string }) => {
  const { Title, ShortTitle = '', Url = null, IsHidden = false, IsLocked = false } = topic;
  const [StartDate, EndDate, DueDate] = [topic.StartDate, topic.EndDate, topic.DueDate].map(
    (time) => time && instant(time),
  );
  return {
    ...{ Title, ShortTitle, Type: 1, Url, IsHidden, IsLocked },
    ...{ StartDate: StartDate ?? null, EndDate: EndDate ?? null, DueDate: DueDate ?? null },
  };
};
