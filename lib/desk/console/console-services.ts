import type { Context, Hono } from 'hono';
import { stream } from 'hono/streaming';
import type { IndexRecord, LetterRecord } from '../../delivery/letters/record.ts';
import type { OptionDesk } from '../../option.ts';
import type { Audit } from '../../stage/audit.ts';
import { UsageError } from '../../stage/command-errors.ts';
import { type Input, inputOf } from '../../stage/input.ts';
import type { Integrations } from '../../stage/integrations.ts';
import { type CommandName, type Role, roleOf } from '../../stage/roles.ts';
import type { Target } from '../../stage/target.ts';
import { type Filter, filterSchema } from '../messages/letters/filter.ts';
import type { Group } from '../messages/letters/groups.ts';
import { findLetters, type LetterSearch } from '../messages/letters/list.ts';
import { findWaiting } from '../messages/waiting/waiting.ts';
import { endedLettersOfFilter } from '../operator-actions/ended-letters.ts';
import type { Status } from '../stage-state/status.ts';
import { countOf, numberOf } from '../views/format.ts';
import { groupTable, matchText } from '../views/letters.ts';
import type { OptionStatus } from '../views/status.ts';
import { type Block, type Form, href, text, type View } from '../views/view.ts';
import { type CachedValue, createCachedValue } from './cached-value.ts';
import { commandOfPath } from './command-of-path.ts';
import type { BrowserSession } from './guard.ts';
import { locked } from './html/forms.ts';
import { type Html, html } from './html/html.ts';
import { shown } from './html/view.ts';
import { page } from './page.ts';
import type { Run, Runs } from './runs.ts';
import type { SavedFilters } from './saved-filters.ts';
import type { SavedKeySetting } from './saved-keys.ts';

export type CachedLists = { letters: CachedValue<LetterSearch>; waiting: CachedValue<IndexRecord[]> };

/** Changes in the letter index become visible after at most this many milliseconds. */
const freshMs = 2_000;

export const createLists = (target: Target, signal: AbortSignal): CachedLists => ({
  letters: createCachedValue(() => findLetters(target, {}, signal), { freshMs }),
  waiting: createCachedValue(() => findWaiting(target, {}, signal), { freshMs }),
});

/** What the screens share. */
export type ConsoleServices = {
  app: Hono;
  target: Target;
  /** The name of the deployment, as in `sis-relay-prod`. */
  name: string;
  /** Who acts, by their credentials. */
  who: string;
  roles: ReadonlySet<Role>;
  /** Resolves when `roles` is as IAM says, or takes long. */
  rolesKnown: Promise<unknown>;
  readOnly: boolean;
  session: BrowserSession;
  integrations: Integrations;
  /** What the options add. */
  desks: readonly OptionDesk[];
  /** Refuses to begin anything if the console is read-only. */
  audit: Audit;
  signal: AbortSignal;
  lists: CachedLists;
  status: CachedValue<Status<OptionStatus>>;
  runs: Runs;
  filters: SavedFilters;
  keys: SavedKeySetting;
};

export type { Context };

/** A plan that was left open must not offer letters that are long done. */
export const withdrawStale = async ({
  lists,
  runs,
}: Pick<ConsoleServices, 'lists' | 'runs'>): Promise<void> => {
  if (!runs.all().some(({ question }) => question?.letters)) return;
  const { value, atMs } = await lists.letters.get();
  const there = new Set(value.all.map(({ message }) => message));
  for (const run of runs.all()) {
    const { letters, askedMs = atMs, answer } = run.question ?? {};
    // Older lists may lack what the plan found.
    if (letters === undefined || askedMs >= atMs || letters.some((id) => there.has(id))) continue;
    run.withdrawn = true;
    answer?.(undefined);
  }
};

const isView = (content: Html | View): content is View => Array.isArray(content);

type Powers = Pick<ConsoleServices, 'readOnly' | 'roles'>;

/** The role that a verb needs and the caller lacks. */
export const lackingFor = (
  { roles }: Pick<ConsoleServices, 'roles'>,
  command: CommandName,
): Role | undefined => (roles.has(roleOf[command]) ? undefined : roleOf[command]);

/** The same for a form by its address. */
export const lackingAt = (services: Pick<ConsoleServices, 'roles'>, address: string): Role | undefined => {
  const command = commandOfPath(address);
  return command && lackingFor(services, command);
};

/** A form that is no view's, disabled if the caller lacks its role. */
export const offered = (services: Pick<ConsoleServices, 'roles'>, address: string, form: Html): Html => {
  const lacking = lackingAt(services, address);
  return lacking === undefined ? form : locked(lacking, form);
};

export const htmlOf = (services: Powers, content: Html | View, level = 2): Html => {
  if (!isView(content)) return content;
  const lacks = (address: string) => lackingAt(services, address);
  return shown(content, { as: services.readOnly ? 'read-only' : 'console', level, lacks });
};

/** The part of a page that the script inserts in place of its link. */
export const partOf = (services: Powers, view: View): Html =>
  html`<div id="part">${htmlOf(services, view)}</div>`;

export const clock = (ms: number): string => `${new Date(ms).toISOString().slice(11, 19)} UTC`;

export const asOf = (ms: number): Block => ({ tone: 'quiet', text: `As of ${clock(ms)}.` });

export const render = (
  services: ConsoleServices,
  context: Context,
  { title, heading, content }: { title: string; heading?: string; content: Html | View },
) => {
  const {
    name,
    who,
    readOnly,
    session: { proof },
    keys,
  } = services;
  const frame = {
    title,
    heading: heading ?? title,
    path: context.req.path,
    name,
    who,
    readOnly,
    proof,
    hasKeys: keys.areOn(),
  };
  return context.html(page(frame, htmlOf(services, content)));
};

type Title = string | ((context: Context) => string);
/** `heading`: what the screen is about, which its title must not say. */
type Headed = { heading: string; content: Html | View };
type Shows = Html | View | Headed;
type Content = (query: URLSearchParams, context: Context) => Shows | Promise<Shows>;

const isHeaded = (content: Shows): content is Headed => 'heading' in content;

/** Adds a screen. Its address alone decides what it shows. */
export const addScreen = (
  services: ConsoleServices,
  [path, titled]: [path: string, Title],
  content: Content,
): void =>
  void services.app.get(path, async (context) => {
    const title = typeof titled === 'string' ? titled : titled(context);
    const { searchParams } = new URL(context.req.url);
    const shown = await content(searchParams, context);
    return render(services, context, { title, ...(isHeaded(shown) ? shown : { content: shown }) });
  });

type LivePart = { version: number; part(): Html };

/** Time between two looks; the longer one after a failure. */
const [restMs, troubleMs] = [250, 3_000];

/**
 * Adds a part of a page that renews itself. The stream only reports that something changed, and `end` before
 * the console ends by itself. Its end shows that the console is gone.
 */
export const addLive = (
  { app, signal }: ConsoleServices,
  path: string,
  look: (context: Context) => Promise<LivePart>,
): void =>
  void app.get(path, async (context) => {
    if (context.req.query('part')) return context.html((await look(context)).part());
    return stream(context, async (out) => {
      // Written at once: browsers repeat a request whose answer has not begun.
      await out.write('\n');
      let isEndSent = false;
      for (
        let sentVersion: number | undefined;
        !out.aborted;
        await out.sleep(sentVersion === -1 ? troubleMs : restMs)
      ) {
        if (signal.aborted && !isEndSent) await out.write('end\n');
        isEndSent = signal.aborted;
        const { version } = await look(context).catch(() => ({ version: -1 }));
        if (sentVersion !== undefined && sentVersion !== version) await out.write('\n');
        sentVersion = version;
      }
    });
  });

type Begin = (form: URLSearchParams, context: Context) => Run | Promise<Run>;

/** Adds a form that begins a run; the answer is the run's screen. */
export const addAction = ({ app }: ConsoleServices, path: string, begin: Begin): void =>
  void app.post(path, async (context) => {
    const form = await formOf(context);
    const { id } = await begin(form, context);
    // The run's own page renews itself: it stays, so that the browser's way back is not longer.
    const isThere = form.get('live') === 'yes' && context.req.path.startsWith(`/runs/${id}/`);
    return isThere ? context.body(null, 204) : context.redirect(`/runs/${id}`, 303);
  });

/** The reason that a form gives. @throws UsageError if it gives none. */
export const reasonIn = (form: URLSearchParams): string => {
  const reason = form.get('reason')?.trim();
  if (reason) return reason;
  throw new UsageError('Enter a reason. The audit log records it.');
};

/** The fields of a form, including repeated ones. */
export const formOf = async (context: Context): Promise<URLSearchParams> =>
  new URLSearchParams(
    [...(await context.req.formData())].flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
  );

/** A file of a form. Undefined: none was chosen, or it is empty. */
export const fileIn = async (context: Context, field: string): Promise<Input | undefined> => {
  const file = (await context.req.formData()).get(field);
  if (!(file instanceof File) || file.size === 0) return undefined;
  return inputOf(file.name, Buffer.from(await file.arrayBuffer()));
};

/** The conditions of a filter as given, for links and forms. */
export type FilterTexts = Record<string, string[]>;

/** Fields that hold lists, separated by commas. */
const listed = new Set(['function', 'kind', 'status', 'cause', 'id']);

/** The filter of an address or a form. @throws UsageError naming the field that is wrong. */
export const filterFrom = (query: URLSearchParams): { filter: Filter; given: FilterTexts } => {
  const given: FilterTexts = {};
  for (const name of Object.keys(filterSchema.shape)) {
    const texts = query.getAll(name).flatMap((each) => (listed.has(name) ? each.split(',') : each));
    const values = texts.map((each) => each.trim()).filter(Boolean);
    if (values.length > 0) given[name] = listed.has(name) ? values : values.slice(-1);
  }
  const one = ([name, values]: [string, string[]]) => [name, listed.has(name) ? values : values[0]];
  const parsed = filterSchema.safeParse(Object.fromEntries(Object.entries(given).map(one)));
  if (parsed.success) return { filter: parsed.data, given };
  const problems = parsed.error.issues.map(({ path, message }) => `${String(path[0])} ${message}`);
  throw new UsageError(problems.join('; '));
};

export type ChosenLetters = {
  letters: LetterRecord[];
  groups: Group[];
  count: number;
  given: FilterTexts;
  filter: Filter;
};

/** The letters that a form selects: the ticked ones, or all that match. @throws UsageError if none was ticked. */
export const chosenFrom = async (
  { lists }: ConsoleServices,
  query: URLSearchParams,
): Promise<ChosenLetters> => {
  const ticked = query.getAll('selected');
  if (query.get('of') === 'selected' && ticked.length === 0)
    throw new UsageError('No letter is ticked. Tick some, or choose all that match.');
  const asked = query.get('of') === 'matching' || ticked.length === 0 ? query : idsOnly(ticked);
  const { filter, given } = filterFrom(asked);
  const { value } = await lists.letters.get();
  const letters = value.matching(filter);
  return { letters, groups: value.groupsOf(letters).groups, count: letters.length, given, filter };
};

/** How many letters the screen showed that a form comes from: with others, a run asks first. */
export const shownIn = (form: URLSearchParams): number | undefined => {
  const shown = form.get('shown');
  return shown === null ? undefined : Number(shown);
};

type ChosenScreen = {
  path: string;
  title: string;
  /** What the verb does. */
  sentence: string;
  /** Shown if no letter is chosen. */
  empty: string;
  form(letters: string, given: FilterTexts): Omit<Form, 'action' | 'hidden'>;
};

/** Adds the screen of a verb for chosen letters: their causes, and the form that begins it. */
export const addChosen = (
  services: ConsoleServices,
  { path, title, sentence, empty, form }: ChosenScreen,
): void =>
  addScreen(services, [path, title], async (query, context) => {
    const { groups, count, given, filter } = await chosenFrom(services, query);
    return [
      text(`${matchText(count)}. ${sentence}`),
      count > 0 && {
        action: path,
        hidden: { ...given, shown: String(count) },
        isMain: true,
        ...form(countOf(count, 'letter'), given),
      },
      groupTable('Letters by cause', groups, { empty }),
      ...(count === 0
        ? await endedLettersOfFilter({ ...services, signal: context.req.raw.signal }, filter)
        : []),
    ];
  });

/** Nothing is preset. The script writes how many letters are ticked, and chosen. */
export const whichOf = (matching: number, elsewhere = 0): Html =>
  html`<label><input type="radio" name="of" value="selected" required> those ticked <output data-ticked></output>${
    elsewhere > 0 ? html` <span class="quiet">(${numberOf(elsewhere)} on other pages)</span>` : ''
  }</label>
<label><input type="radio" name="of" value="matching" data-number="${numberOf(matching)}" required> all ${numberOf(matching)} that match</label>`;

/** What a run works on, and the screen that begins it again, for `runs.begin`. */
export const runOn = (path: string, given: FilterTexts) => {
  const { id = [], ...others } = given;
  const filters = Object.entries(others).map(([name, values]) => `${name} ${values.join(', ')}`);
  const ids = id.length > 3 ? [countOf(id.length, 'chosen letter')] : id.map((each) => each.slice(0, 8));
  const about = [...filters, ...ids].join(' · ') || 'all letters';
  return { about, again: href(path, given) };
};

const idsOnly = (ids: readonly string[]): URLSearchParams =>
  new URLSearchParams(ids.map((id): [string, string] => ['id', id]));
