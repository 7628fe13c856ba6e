import * as z from 'zod';
import { namedFile, openNamedFile } from '../lib/delivery/handle/fields/named-file.ts';
import { largeText, shortText, time } from '../lib/delivery/handle/fields/text.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { platformId } from '../lib/message/message.ts';
import { identityOf } from '../lib/message/version.ts';
import { createNewsItem, postNewsItem } from '../lib/platform/resources/news.ts';

const data = z
  .strictObject({
    orgUnitId: platformId,
    title: shortText.regex(/\S/, 'must not be empty'),
    body: z.strictObject({ text: largeText, html: largeText.nullable().default(null) }),
    startDate: time,
    endDate: time.nullable().default(null),
    isGlobal: z.boolean().default(false),
    isPublished: z.boolean().default(true),
    showOnlyInCourseOfferings: z.boolean().default(false),
    attachments: z.array(namedFile).max(20, 'must name at most 20 files').default([]),
  })
  .refine(({ startDate, endDate }) => endDate === null || Date.parse(endDate) > Date.parse(startDate), {
    path: ['endDate'],
    error: 'must be after startDate',
  });

export const integration: Integration<z.infer<typeof data>> = {
  name: 'news-item-create',
  data,
  resource: (_, message) => `news-item/${identityOf(message)}`,
  changes: ['news-item'],
  files: true,
  operations: [postNewsItem],
  repeatable: false,
  run: ({ orgUnitId, attachments, ...item }, context) =>
    createNewsItem(context.platform, orgUnitId, {
      item: {
        Title: item.title,
        Body: { Text: item.body.text, Html: item.body.html },
        StartDate: item.startDate,
        EndDate: item.endDate,
        IsGlobal: item.isGlobal,
        IsPublished: item.isPublished,
        ShowOnlyInCourseOfferings: item.showOnlyInCourseOfferings,
      },
      openAttachments: () => Promise.all(attachments.map((file) => openNamedFile(file, context))),
    }),
  verify: {
    // No known call reads news back.
    subject: ({ orgUnitId }) => `a news item with this message's title in org unit ${orgUnitId}`,
  },
};

export const handler = handlerOf(integration);
