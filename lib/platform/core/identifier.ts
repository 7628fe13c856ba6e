import * as z from 'zod';

/** An id or a bookmark as text, where some versions give a number. One beyond 2^53 has lost digits, and is none. */
export const identifier = z.union([z.string(), z.int()]).transform(String);
