import type { Context, Hono } from 'hono';
import type { ConnectionReport } from '../connection/check.ts';
import type { Status } from '../connection/status.ts';
import { type Filter, filterSchema } from '../dead-letters/reading/filter.ts';
import { type Group, groupsOf } from '../dead-letters/reading/groups.ts';
import type { Audit } from '../deployment/audit.ts';
import { UsageError } from '../deployment/command-errors.ts';
import type { Integrations } from '../deployment/integrations.ts';
import type { Target } from '../deployment/target.ts';
import type { Html } from '../markup/html.ts';
import type { Kept } from './kept.ts';
import type { Lists } from './lists.ts';
import { page } from './page.ts';
import type { Runs } from './runs.ts';

/** What the screens share. */
export type Desk = {
  target: Target;
  /** Of the deployment, as in `sis-relay-prod`. */
  name: string;
  readOnly: boolean;
  integrations: Integrations;
  /** Refuses to begin anything where the console is read-only. */
  audit: Audit;
  signal: AbortSignal;
  lists: Lists;
  status: Kept<Status>;
  runs: Runs;
};

export type App = Hono;
export type { ConnectionReport, Context };

/** Answers a whole page. */
export const render = (desk: Desk, context: Context, title: string, content: Html) =>
  context.html(
    page(
      {
        ...{ title, path: context.req.path, name: desk.name },
        ...{ who: desk.target.who, readOnly: desk.readOnly },
      },
      content,
    ),
  );

/** The fields of a form, each as often as it was given. */
export const formOf = async (context: Context): Promise<URLSearchParams> =>
  new URLSearchParams(
    [...(await context.req.formData())].flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
  );

/** The conditions of a filter as they were given, for links and forms. */
export type Given = Record<string, string[]>;

const listed = new Set(['function', 'kind', 'status', 'id']);

/** What an address or a form gives of a filter. @throws UsageError naming the field that is wrong. */
export const filterFrom = (query: URLSearchParams): { filter: Filter; given: Given } => {
  const given: Given = {};
  for (const name of Object.keys(filterSchema.shape)) {
    const values = query
      .getAll(name)
      .map((each) => each.trim())
      .filter((each) => each !== '');
    if (values.length > 0) given[name] = listed.has(name) ? values : values.slice(-1);
  }
  const parsed = filterSchema.safeParse(
    Object.fromEntries(
      Object.entries(given).map(([name, values]) => [name, listed.has(name) ? values : values[0]]),
    ),
  );
  if (parsed.success) return { filter: parsed.data, given };
  throw new UsageError(
    parsed.error.issues.map(({ path, message }) => `${String(path[0])} ${message}`).join('; '),
  );
};

export const queryOf = (context: Context): URLSearchParams => new URL(context.req.url).searchParams;

/** Which letters a screen was sent for: those that were ticked, or all that match. @throws UsageError where none was ticked. */
export const chosenFrom = async (
  { lists }: Desk,
  query: URLSearchParams,
): Promise<{ groups: Group[]; count: number; given: Given; filter: Filter }> => {
  const ticked = query.getAll('selected');
  if (query.get('of') === 'selected' && ticked.length === 0)
    throw new UsageError('No letter is ticked: tick some, or take all that match.');
  const asked = query.get('of') === 'matching' || ticked.length === 0 ? query : idsOnly(ticked);
  const { filter, given } = filterFrom(asked);
  const { value } = await lists.letters.get();
  const letters = value.matching(filter);
  return { groups: groupsOf(letters).groups, count: letters.length, given, filter };
};

const idsOnly = (ids: readonly string[]): URLSearchParams =>
  new URLSearchParams(ids.map((id): [string, string] => ['id', id]));
