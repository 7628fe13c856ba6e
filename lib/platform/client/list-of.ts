import * as z from 'zod';

/** A list is read to its end only while fewer of its items than this are wrong: as many are reported. */
const maxFaults = 20;

const elements = new WeakMap<object, z.ZodType>();

/** The schema of a list's items, if the list was made by `listOf`. */
export const elementOf = (list: object): z.ZodType | undefined => elements.get(list);

/**
 * A list of the platform. Its items are checked one by one, and no further than the first faults: `z.array` keeps each fault, which
 * takes 500 MB for a list of 1 MB.
 */
export const listOf = <Item>(item: z.ZodType<Item>): z.ZodType<Item[]> => {
  const list = z.unknown().transform((given, context): Item[] => {
    if (!Array.isArray(given)) {
      context.issues.push({ code: 'invalid_type', expected: 'array', input: given });
      return z.NEVER;
    }
    const items: Item[] = [];
    for (const [at, each] of given.entries()) {
      const { data, error } = item.safeParse(each);
      if (error === undefined) items.push(data);
      for (const issue of error?.issues ?? [])
        context.issues.push({ ...issue, input: undefined, path: [at, ...issue.path] } as never);
      if (at + 1 - items.length === maxFaults) break;
    }
    return items;
  });
  elements.set(list, item);
  return list;
};
