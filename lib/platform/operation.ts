import type * as z from 'zod';

/** One API call of the platform, declared once: everything that the client, the scopes and the ledger need to know of it. */
export type Operation<Answer> = {
  /** Its name in configuration, metrics and messages, such as `set-grade-value`. */
  name: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The product component of the path; undefined for what lies beside the components. */
  component: 'lp' | 'le' | undefined;
  /** Below the component's version, with `{placeholders}` for ids; collections end in `/`, items do not. */
  path: string;
  /** The OAuth scope it needs. */
  scope: string | undefined;
  /** May it be sent twice without harm? */
  repeatable: boolean;
  /** What a success must carry; undefined: nothing is read. Unknown fields are kept. */
  answer: z.ZodType<Answer> | undefined;
};

/** Declares an operation whose success carries no body that we read. */
export const operation = (declared: Omit<Operation<undefined>, 'answer'>): Operation<undefined> => ({
  ...declared,
  answer: undefined,
});

/** Declares an operation whose success carries JSON of the given shape. */
export const reading = <Answer>(declared: Operation<Answer>): Operation<Answer> => declared;
