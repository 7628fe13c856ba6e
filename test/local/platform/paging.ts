import { type Answer, json } from './http/answer.ts';
import { invalidParameters } from './http/refusal.ts';
import type { Call } from './route.ts';

type Listing<Row> = { rows: Row[]; idOf(row: Row): number; out(row: Row): unknown };

/** `{PagingInfo, Items}`: the caller builds the next address from the bookmark. */
export function bookmarkedPage<Row>(call: Call, listing: Listing<Row>): Answer {
  const { items, last, more } = pageOf(call, listing);
  return json({ PagingInfo: { Bookmark: last, HasMoreItems: more }, Items: items });
}

/** `{Objects, Next}`: Next is a whole address without any proof in it, or null. */
export function linkedPage<Row>(call: Call, listing: Listing<Row>): Answer {
  const { items, last, more } = pageOf(call, listing);
  const query = new URLSearchParams([...call.query].filter(([name]) => !/^x_[abcdt]$/.test(name)));
  query.set('bookmark', last);
  return json({ Objects: items, Next: more ? `${call.world.site.url}${call.path}?${query}` : null });
}

/** A bookmark is the id of the last item seen, so that rows may come and go between two pages. */
function pageOf<Row>({ query, world }: Call, { rows, idOf, out }: Listing<Row>) {
  const bookmark = query.get('bookmark') ?? '';
  if (!/^\d*$/.test(bookmark)) throw invalidParameters('bookmark is none of this list');
  const rest = rows
    .filter((row) => idOf(row) > Number(bookmark))
    .sort((one, other) => idOf(one) - idOf(other));
  const page = rest.slice(0, world.settings.pageSize);
  const lastRow = page.at(-1);
  return {
    items: page.map(out),
    last: lastRow === undefined ? bookmark : String(idOf(lastRow)),
    more: rest.length > page.length,
  };
}
