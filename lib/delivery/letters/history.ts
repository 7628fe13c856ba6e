import * as z from 'zod';
import { jsonIn } from '../../message/json.ts';

const actionSchema = z.object({
  what: z.enum(['replayed', 'edited']),
  at: z.string(),
  by: z.string(),
  why: z.string().optional(),
  /** The letter's id and kind at that time. */
  letter: z.string(),
  kind: z.string(),
  /** Address of the message before the edit. */
  original: z.string().optional(),
});

export type OperatorAction = z.infer<typeof actionSchema>;

const historySchema = z.object({
  /** When the message was first delivered to a function. */
  firstAt: z.string().optional(),
  /** The queue of another stage that its letter came from. */
  importedFrom: z.string().optional(),
  /** Number of deeds that are left out for lack of room. */
  left: z.number().default(0),
  deeds: z.array(actionSchema),
});

export type History = z.infer<typeof historySchema>;

/** Any sender may set this attribute: a value that is no history is ignored. */
export const historyIn = (json: string | undefined): History | undefined =>
  historySchema.safeParse(jsonIn(json ?? '')).data;

/** The first deed and the last ones, as far as a message has room beside its body. */
const maxActions = 10;
const maxWhy = 200;

export const withOperatorAction = (
  before: History | undefined,
  { why, ...action }: OperatorAction,
  firstAt: string | undefined,
): string => {
  const { deeds = [], left = 0 } = before ?? {};
  const all = [
    ...deeds,
    { ...action, ...(why !== undefined && { why: why.slice(0, maxWhy).toWellFormed() }) },
  ];
  const kept = all.length > maxActions ? [...all.slice(0, 1), ...all.slice(1 - maxActions)] : all;
  return JSON.stringify({
    ...before,
    firstAt: before?.firstAt ?? firstAt,
    left: left + all.length - kept.length,
    deeds: kept,
  });
};

export const withOrigin = (before: History | undefined, importedFrom: string): string =>
  JSON.stringify({ left: 0, deeds: [], ...before, importedFrom } satisfies History);
