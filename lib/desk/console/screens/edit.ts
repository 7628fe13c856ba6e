import { type Columns, columnsOf, typed } from '../../../delivery/mapping/columns.ts';
import { eventIn } from '../../../message/envelope.ts';
import { needsDecision } from '../../../message/failure-kinds.ts';
import { problemOf } from '../../../message/json.ts';
import { maskedBody } from '../../../runtime/privacy/shown-message.ts';
import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import { changed, type MessageEdit } from '../../messages/edit/change.ts';
import { problemsIn } from '../../messages/edit/problems.ts';
import { showLetter, showLetters } from '../../messages/letters/show.ts';
import { runDefaults } from '../../messages/replay/run-defaults.ts';
import type { Answer, OperatorContext } from '../../operator-actions/operator-context.ts';
import { edit } from '../../operator-actions/send.ts';
import { countOf } from '../../views/format.ts';
import { endedLetterLinks, groupTable, matchText } from '../../views/letters.ts';
import { type FieldOfMessage, href, text, type View } from '../../views/view.ts';
import {
  addAction,
  addScreen,
  type ChosenLetters,
  type ConsoleServices,
  type Context,
  chosenFrom,
  formOf,
  htmlOf,
  lackingAt,
  offered,
  reasonIn,
  render,
  runOn,
} from '../console-services.ts';
import { checkbox, fieldOf, hiddenFields, reasonField } from '../html/forms.ts';
import { type Html, html } from '../html/html.ts';
import { lookedText } from './replay.ts';

export const addEdit = (services: ConsoleServices): void => {
  addScreen(services, ['/edit', 'Edit'], (query) => editScreen(services, query));
  addScreen(services, ['/edit/held', 'Edit'], (query, context) => heldPart(services, query, context));
  services.app.post('/edit/values', (context) => revealValues(services, context));
  addAction(services, '/edit', (form) => beginEdit(services, form));
};

const editScreen = async (services: ConsoleServices, query: URLSearchParams): Promise<Html> => {
  const chosen = await chosenFrom(services, query);
  const isLacking = lackingAt(services, '/edit') !== undefined;
  if (isLacking) return screenOf(services, chosen, formFor(services, chosen));
  const to = href('/edit/held', chosen.given);
  return screenOf(services, chosen, [{ later: 'Read from the queue, and show what the fields hold', to }]);
};

/** The form with what the fields hold, which is read from the queue. */
const heldPart = async (
  services: ConsoleServices,
  query: URLSearchParams,
  context: Context,
): Promise<Html> => {
  const chosen = await chosenFrom(services, query);
  const { signal } = context.req.raw;
  const form =
    chosen.count === 1 ? await oneForm(services, chosen, signal) : await manyForm(services, chosen, signal);
  return html`<div id="part">${services.readOnly ? '' : form}</div>`;
};

const revealValues = async (services: ConsoleServices, context: Context) => {
  const { target, audit } = services;
  const form = await formOf(context);
  const reason = reasonIn(form);
  const chosen = await chosenFrom(services, form);
  const letter = { id: onlyOf(chosen), reveal: true, reason, audit, signal: context.req.raw.signal };
  const { message } = await showLetter(target, letter);
  const content = screenOf(
    services,
    chosen,
    formFor(services, chosen, { messages: [message], revealed: reason }),
  );
  return render(services, context, { title: 'Edit', content });
};

const beginEdit = async (services: ConsoleServices, form: URLSearchParams) => {
  const { filter, given, count, letters } = await chosenFrom(services, form);
  const reason = reasonIn(form);
  if (Object.keys(filter).length === 0) throw new UsageError('Which letters? Choose some, or set a filter.');
  const columns = columnsFor(services, form.get('function') ?? '');
  const isOnly = count === 1;
  const answered: Answer = Object.fromEntries(form);
  if (!isOnly && changesIn(answered, columns).length === 0) throw new UsageError(nothingChanged);
  const options = {
    ...runDefaults,
    filter,
    reason,
    reveal: false,
    isOpened: false,
    includeUncertain: form.get('includeUncertain') === 'yes',
  };
  return services.runs.begin(
    'Edit',
    (at) => {
      const correction = new Correction(at, { columns, answered, isOnly, first: letters[0]?.message });
      return edit(at, { ...options, change: (body, problem) => correction.change(body, problem) });
    },
    runOn('/edit', given),
  );
};

type CorrectionOptions = { columns: Columns; answered: Answer; isOnly: boolean; first: string | undefined };

/** Makes the changes that a form names. Of a single letter, it asks for other values until its function would accept it. */
class Correction {
  readonly #at: OperatorContext;
  readonly #options: CorrectionOptions;
  #answered: Answer;
  #original = '';

  constructor(at: OperatorContext, options: CorrectionOptions) {
    this.#at = at;
    this.#options = options;
    this.#answered = options.answered;
  }

  /** `problem`: why its function would not accept the body, which was changed before. */
  change(body: string, problem: string | undefined): Promise<string> {
    if (problem !== undefined) return this.#correct(this.#original, problem);
    this.#original = body;
    return this.#make(body);
  }

  async #make(body: string): Promise<string> {
    const changes = changesIn(this.#answered, this.#options.columns);
    if (changes.length === 0) return this.#correct(body, nothingChanged);
    try {
      return changed(body, changes);
    } catch (error) {
      if (error instanceof RefusedError) return this.#correct(body, error.inBrowser);
      throw error;
    }
  }

  async #correct(body: string, problem: string): Promise<string> {
    const { columns, isOnly, first } = this.#options;
    const message = maskedBody(body);
    if (message === undefined)
      throw new RefusedError(
        `The message ${problemOf(body) ?? 'is not a JSON object'}. ${inTerminal(first)}`,
      );
    if (!isOnly) throw new RefusedError(problem);
    const isAtField = problemsIn([problem]).length > 0;
    const answer = await this.#at.ask({
      hint: isAtField ? 'Its function would still refuse it: see the marked field.' : problem,
      act: 'Check again',
      fields: fieldsOf(columns, { messages: [message], problems: [problem], typed: this.#answered }),
    });
    if (!answer) throw new RefusedError(problem);
    this.#answered = answer;
    return this.#make(body);
  }
}

const columnsFor = ({ integrations }: ConsoleServices, name: string): Columns => {
  const integration = integrations.get(name);
  // Fields whose names come from the platform cannot be listed.
  return new Map(integration && [...columnsOf(integration)].filter(([path]) => !path.endsWith('.*')));
};

const screenOf = (services: ConsoleServices, chosen: ChosenLetters, form: Html | View): Html => {
  const { groups, count, filter } = chosen;
  const isOfOne = new Set(groups.map((group) => group.function)).size < 2;
  const view: View = [
    text(`${matchText(count)}.`),
    // Of one letter, the form shows it at its field.
    (count !== 1 || problemsIn(groups.map(({ error }) => error)).length === 0) &&
      groupTable('Letters by cause', groups, { empty: 'There is nothing to edit.' }),
    ...(count === 0 ? endedLetterLinks(filter) : []),
  ];
  return html`${htmlOf(services, view)}${
    count === 0 || services.readOnly
      ? ''
      : isOfOne && columnsFor(services, groups[0]?.function ?? '').size > 0
        ? offered(services, '/edit', htmlOf(services, form))
        : html`<p class="warn">Only letters of one function of this deployment can be edited together: <a href="/letters">choose them</a>.</p>`
  }`;
};

/** `messages`: for the values that their fields hold; `revealed`: why they are shown. */
const formFor = (
  services: ConsoleServices,
  { groups, count, given }: Pick<ChosenLetters, 'groups' | 'count' | 'given'>,
  { messages = [], revealed }: { messages?: readonly unknown[]; revealed?: string } = {},
): Html => {
  const name = groups[0]?.function ?? '';
  const state = { messages, problems: groups.map(({ error }) => error) };
  const hides = count === 1 && messages.length > 0 && revealed === undefined;
  const isPart = messages.length > 0 && messages.length < count;
  return html`<form method="post" action="/edit" class="fields" tabindex="-1" autofocus aria-label="Edit">${hiddenFields({ ...given, function: name })}
<p>A field that you leave empty stays as it is. Before anything is sent, you see the changes.${isPart ? ` The values are those of ${countOf(messages.length, 'letter')}.` : ''}</p>
<fieldset><legend>Fields of ${name}</legend>${fieldsOf(columnsFor(services, name), state).map(fieldOf)}</fieldset>
${reasonField(true, revealed)}${groups.some(({ kind }) => needsDecision(kind)) ? checkbox('includeUncertain', lookedText) : ''}<button class="main">Show the difference in ${countOf(count, 'letter')}</button>${hides ? html` <button formaction="/edit/values">Reveal the values</button>` : ''}</form>`;
};

const oneForm = async (
  services: ConsoleServices,
  chosen: ChosenLetters,
  signal: AbortSignal,
): Promise<Html> => {
  const letter = { id: onlyOf(chosen), reveal: false, audit: services.audit, signal };
  const { message } = await showLetter(services.target, letter);
  // Of what is not JSON, there is a sentence alone.
  return typeof message === 'string'
    ? htmlOf(services, [text(message), text(inTerminal(letter.id))])
    : formFor(services, chosen, { messages: [message] });
};

const manyForm = async (
  services: ConsoleServices,
  chosen: ChosenLetters,
  signal: AbortSignal,
): Promise<Html> => {
  const ids = chosen.letters.slice(0, maxHeld).map(({ message }) => message);
  const shown = await showLetters(services.target, { ids, atMost: maxSearched, signal });
  const messages = shown.flatMap(({ message }) => (typeof message === 'string' ? [] : [message]));
  return formFor(services, chosen, { messages });
};

const onlyOf = ({ letters }: ChosenLetters): string => {
  const [{ message = '' } = {}, ...others] = letters;
  if (message === '' || others.length > 0) throw new UsageError('Choose one letter.');
  return message;
};

/** No form has fields for what is not JSON. */
const inTerminal = (id = ''): string =>
  `A form cannot set its fields. In a terminal, sis-relay letters edit ${id.slice(0, 8)} opens it in your editor.`;

const nothingChanged = 'Nothing is changed. Fill in a field, or remove one.';

type EditState = { messages: readonly unknown[]; problems: readonly string[]; typed?: Answer };

const fieldsOf = (columns: Columns, { messages, problems, typed = {} }: EditState): FieldOfMessage[] => {
  const held = messages.map(valuesOf);
  // Each is shown once: at its field, or at the first field of what it names.
  const left = new Map(problemsIn(problems).map(({ path, problem }) => [path, problem]));
  const problemAt = (path: string): string | undefined => {
    const found = [...left].find(([at]) => `data.${path}` === at || `data.${path}`.startsWith(`${at}.`));
    if (found) left.delete(found[0]);
    return found?.[1];
  };
  const fields = [...columns].map(([path, { types, choices }]) => ({
    path,
    options: types.has('boolean') ? [...choices, 'true', 'false'] : choices,
    typed: typed[`set:${path}`],
    isRemoved: typed[`unset:${path}`] === 'yes',
    now: heldText(held.map((valueAt) => valueAt(path))),
    problem: problemAt(path),
  }));
  // What failed comes first: it is what is to be corrected.
  return fields.toSorted(
    (one, other) => Number(other.problem !== undefined) - Number(one.problem !== undefined),
  );
};

/** What several letters hold: the values that differ, the first ones in full. */
const heldText = (values: readonly string[]): string | undefined => {
  const different = [...new Set(values)];
  if (different.length <= maxDifferent) return different.length === 0 ? undefined : different.join(', ');
  const others = countOf(different.length - maxDifferent, 'other value');
  return `${different.slice(0, maxDifferent).join(', ')} and ${others}`;
};

const maxDifferent = 3;
/** Of so many letters, the form shows the values, if they are among the first of the queue. */
const maxHeld = 20;
const maxSearched = 2_000;

/** The values of a message, as text, by the names of fields. */
const valuesOf = (message: unknown): ((path: string) => string) => {
  const { data } = Object(eventIn(JSON.stringify(message) ?? '')) as { data?: unknown };
  return (path) => {
    const value = path.split('.').reduce<unknown>((at, part) => Object(at)[part], data);
    if (value === undefined) return 'not set';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
};

/** The field's type decides how a value is read: `7` is a number for points, and a text for a comment. */
const changesIn = (given: Answer, fields: Columns): MessageEdit[] =>
  [...fields].flatMap(([field, { types }]): MessageEdit[] => {
    const path = ['data', ...field.split('.')];
    const text = given[`set:${field}`] ?? '';
    if (given[`unset:${field}`] === 'yes') return [{ path }];
    return text === '' ? [] : [{ path, value: typed(text, types) }];
  });
