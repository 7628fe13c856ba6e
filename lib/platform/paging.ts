import * as z from 'zod';
import type { Platform } from './client.ts';
import { PlatformError } from './error.ts';
import { identifier } from './identifier.ts';
import type { Operation } from './operation.ts';
import { type CallInput, withoutProof } from './request.ts';

/** One page of a list, whichever of the platform's forms it came in; neither bookmark nor next: it is the last. */
export type Page<Item> = { items: Item[]; bookmark?: string | undefined; next?: string | undefined };

/** The answer of an operation that lists: `{PagingInfo,Items}`, `{Objects,Next}`, or a bare array. */
export const pageOf = <Item>(item: z.ZodType<Item>): z.ZodType<Page<Item>> =>
  z.preprocess(
    pageIn,
    z.object({
      items: z.array(item),
      bookmark: identifier.optional(),
      next: z.string().optional(),
      // Taken for a no, any other word would end the list in silence.
      HasMoreItems: z.boolean().nullish(),
    }),
  );

const pageIn = (answer: unknown): unknown => {
  if (Array.isArray(answer)) return { items: answer };
  if (typeof answer !== 'object' || answer === null) return {};
  const { PagingInfo, Items, Objects, Next } = answer as Record<string, unknown>;
  if (Objects !== undefined) return { items: Objects, next: Next || undefined };
  const { HasMoreItems, Bookmark } = (PagingInfo ?? {}) as Record<string, unknown>;
  return { items: Items, HasMoreItems, bookmark: HasMoreItems === true ? (Bookmark ?? '') : undefined };
};

/** The items of a list, asked for page by page as they are used: no more than one page is held. */
export async function* itemsOf<Item>(
  platform: Platform,
  operation: Operation<Page<Item>>,
  input: CallInput = {},
): AsyncGenerator<Item, void, undefined> {
  const seen = new Set<string>();
  let at = input;
  for (;;) {
    const { items, bookmark, next } = await platform.call(operation, at);
    yield* items;
    const onwards = next ?? bookmark;
    if (onwards === undefined) return;
    // An address may hold the proof that it was asked with, which is another each second.
    const place = withoutProof(onwards);
    if (place === '' || seen.has(place)) {
      // A platform that has nothing more, and yet says so: the list is whole.
      if (items.length === 0) return;
      const call = `${operation.method} ${operation.path}`;
      throw new PlatformError({ operation, call, sent: true, message: 'its pages lead in a circle' });
    }
    seen.add(place);
    at = next === undefined ? { ...input, query: { ...input.query, bookmark: onwards } } : { ...input, next };
  }
}
