import * as z from 'zod';
import { ownText, safe } from '../../message/safe-text.ts';
import type { Platform } from '../client/client.ts';
import { listOf } from '../client/list-of.ts';
import type { Operation } from '../client/operation.ts';
import { PlatformError } from '../client/platform-error.ts';
import { type CallInput, withoutSignatures } from '../client/request.ts';
import { respelled } from '../client/respell.ts';

/** An id or a bookmark as text; some versions give a number. A number beyond 2^53 has lost digits and is invalid. */
export const identifier = z.union([z.string(), z.int()]).transform(String);

/** One page of a list, from any of the platform's forms. The last page has neither bookmark nor next. */
export type Page<Item> = { items: Item[]; bookmark?: string | undefined; next?: string | undefined };

/** The answer of an operation that lists: `{PagingInfo,Items}`, `{Objects,Next}`, or a bare array. */
export const pageOf = <Item>(item: z.ZodType<Item>): z.ZodType<Page<Item>> => {
  const items = listOf(item);
  return z.preprocess(
    (answer) => pageIn(answer, items),
    z.object({
      items,
      bookmark: identifier.optional(),
      next: z.string().optional(),
      // Any other value is an error: taken for false, it would end the list early without notice.
      HasMoreItems: z.boolean().nullish(),
    }),
  );
};

/** Both forms of a page. In another spelling, the link to the next page would be missed, and the list end early without notice. */
const frame = z.looseObject({
  PagingInfo: z.looseObject({ HasMoreItems: z.boolean(), Bookmark: z.unknown() }).nullish(),
  Items: z.unknown(),
  Objects: z.unknown(),
  Next: z.unknown(),
});

/** Names of fields that may lead to the next page. In an unknown form they would be missed, and the list end early. */
const leading = /next|more|bookmark|cursor|continu|paging/i;

const pageIn = (answer: unknown, items: z.ZodType): unknown => {
  if (Array.isArray(answer)) return { items: respelled(items, answer) };
  if (typeof answer !== 'object' || answer === null) return {};
  const page = respelled(frame, answer) as Record<string, unknown>;
  const { PagingInfo, Items, Objects, Next } = page;
  const isLinked = Objects !== undefined;
  const own = isLinked ? 'Next' : 'PagingInfo';
  const isMixed = (isLinked && Items !== undefined) || leadsOn(page, own);
  if (isMixed) return {};
  if (isLinked) return { items: respelled(items, Objects), next: Next || undefined };
  const { HasMoreItems, Bookmark } = (PagingInfo ?? {}) as Record<string, unknown>;
  const bookmark = HasMoreItems === true ? (Bookmark ?? '') : undefined;
  return { items: respelled(items, Items), HasMoreItems, bookmark };
};

const leadsOn = (page: Record<string, unknown>, own: string): boolean =>
  Object.entries(page).some(([name, value]) => name !== own && leading.test(name) && Boolean(value));

/** The items of a list, requested page by page as they are used: at most one page is in memory. */
export async function* itemsOf<Item>(
  platform: Platform,
  operation: Operation<Page<Item>>,
  input: CallInput = {},
): AsyncGenerator<Item, void, undefined> {
  for await (const { items } of pagesOf(platform, operation, input)) yield* items;
}

/** The pages of a list. `following` is the input for the next page: a reader that stops can continue from there later. */
export async function* pagesOf<Item>(
  platform: Platform,
  operation: Operation<Page<Item>>,
  input: CallInput = {},
): AsyncGenerator<{ items: Item[]; following: CallInput | undefined }, void, undefined> {
  const seen = new Set<string>();
  let at = input;
  for (;;) {
    const { items, bookmark, next } = await platform.call(operation, at);
    const onwards = next ?? bookmark;
    // An address may repeat the signatures of its request, which differ each second.
    const place = onwards === undefined ? undefined : withoutSignatures(onwards);
    const isCircle = place === '' || (place !== undefined && seen.has(place));
    // Some platforms point to a next page after the last one: the list is complete.
    if (onwards === undefined || place === undefined || (isCircle && items.length === 0)) {
      yield { items, following: undefined };
      return;
    }
    const following: CallInput =
      next === undefined ? { ...input, query: { ...input.query, bookmark: onwards } } : { ...input, next };
    yield { items, following };
    if (isCircle) {
      const call = safe`${operation.method} ${ownText(operation.path)}`;
      const message = safe`its pages repeat`;
      throw new PlatformError({ operation, call, sent: true, unexpected: true, message });
    }
    seen.add(place);
    at = following;
  }
}
