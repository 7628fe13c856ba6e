import type { Platform } from '../client/client.ts';
import { filePart, jsonPart, multipart, type UploadedFile } from '../client/multipart.ts';
import { acknowledged } from '../client/operation.ts';

export type NewsItem = {
  Title: string;
  Body: { Text: string; Html: string | null };
  StartDate: string;
  EndDate: string | null;
  IsGlobal: boolean;
  IsPublished: boolean;
  ShowOnlyInCourseOfferings: boolean;
};

export const postNewsItem = acknowledged({
  name: 'create-news-item',
  call: 'POST /le/{orgUnitId}/news/',
  scope: 'news:newsitems:manage',
  // Each call adds an item: people would read it twice.
  repeatable: false,
});

/** Creates a news item. `openAttachments` is called each time that the body is sent. */
export const createNewsItem = (
  platform: Platform,
  orgUnitId: number,
  { item, openAttachments }: { item: NewsItem; openAttachments(): Promise<UploadedFile[]> },
) =>
  platform.call(postNewsItem, {
    path: { orgUnitId },
    payload: async () =>
      multipart('mixed', [
        jsonPart({
          ...item,
          StartDate: new Date(item.StartDate).toISOString(),
          EndDate: item.EndDate === null ? null : new Date(item.EndDate).toISOString(),
        }),
        ...(await openAttachments()).map((file) => filePart({ name: '', ...file })),
      ]),
  });
