import { json } from '../http/answer.ts';
import { boolean, date, nullable, object, string } from '../http/bind.ts';
import { malformed, partsOf } from '../http/multipart.ts';
import { bindingError } from '../http/refusal.ts';
import { filePart, jsonPart } from '../http/upload.ts';
import { route } from '../route.ts';
import type { StoredFile } from '../state.ts';

export const newsRoutes = [
  route({
    method: 'POST',
    component: 'le',
    path: '{orgUnitId}/news/',
    scope: 'news:newsitems:manage',
    permission: 'ManageNews',
    async handle({ ids, state, request }) {
      const attachments: StoredFile[] = [];
      let item: ReturnType<typeof newsItemIn> | undefined;
      for await (const part of partsOf(request, 'mixed')) {
        if (item === undefined) item = newsItemIn(await jsonPart(part));
        else attachments.push(await filePart(part, ''));
      }
      if (item === undefined) throw malformed('the news item is missing');
      const newsItemId = state.nextId();
      state.tables.newsItems.put({ newsItemId, orgUnitId: ids.orgUnitId, fields: item, attachments });
      const files = attachments.map(({ name, bytes }, index) => ({
        FileId: index + 1,
        FileName: name,
        Size: bytes,
      }));
      return json({ Id: newsItemId, ...item, Attachments: files });
    },
  }),
];

const newsItemBody = object({
  Title: string,
  Body: object({ Text: string, Html: nullable(string) }),
  StartDate: date,
  EndDate: nullable(date),
  IsGlobal: boolean,
  IsPublished: boolean,
  ShowOnlyInCourseOfferings: boolean,
});

function newsItemIn(body: unknown) {
  const item = newsItemBody(body, '');
  if (item.Title.trim() === '') throw bindingError('Title must not be empty');
  return item;
}
