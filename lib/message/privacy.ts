import * as z from 'zod';

/**
 * Tags fields of schemas: `id` may be shown to anybody, `secret` to nobody. A field without a tag may be about a person: it is
 * hidden wherever its message is shown. `npm run generate` collects the ids in shown-ids.ts; a test checks that every secret is
 * hidden in logs and errors.
 */
export const privacy = z.registry<{ privacy: 'id' | 'secret' }>();

export const id = { privacy: 'id' } as const;
export const secret = { privacy: 'secret' } as const;
