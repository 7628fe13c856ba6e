import { eventIn } from '../../../message/envelope.ts';
import { type Change, changed } from '../../../operate/messages/edit/change.ts';
import { type LetterDetails, showLetter } from '../../../operate/messages/letters/show.ts';
import { runDefaults } from '../../../operate/messages/replay/run-defaults.ts';
import { RefusedError, UsageError } from '../../../operate/stage/command-errors.ts';
import { type Column, type Columns, columnsOf, typed } from '../../../sources/mapping/columns.ts';
import { edit } from '../../verbs/send.ts';
import { countOf } from '../../views/amounts.ts';
import { becameOf, groupTable, matchText } from '../../views/letters.ts';
import { text } from '../../views/view.ts';
import {
  addScreen,
  addVerb,
  chosenFrom,
  type Desk,
  filterFrom,
  formOf,
  htmlOf,
  offered,
  reasonIn,
  render,
  runOn,
} from '../desk.ts';
import { checkbox, choice, hiddenFields, reasonField, textField } from '../html/forms.ts';
import { type Html, html, said } from '../html/html.ts';
import { lookedText } from './replay.ts';

export const addEdit = (desk: Desk): void => {
  const { target, audit, runs, integrations, readOnly } = desk;
  const fieldsOf = (name: string): Columns => {
    const integration = integrations.get(name);
    // Fields whose names come from the platform cannot be listed.
    return new Map(integration && [...columnsOf(integration)].filter(([path]) => !path.endsWith('.*')));
  };

  /** `revealed`: why the values of a single letter are revealed. */
  const screenOf = async (
    query: URLSearchParams,
    revealed?: { reason: string; signal: AbortSignal },
  ): Promise<Html> => {
    const { letters, groups, count, given, filter } = await chosenFrom(desk, query);
    const [name = '', ...others] = new Set(groups.map((group) => group.function));
    const fields = others.length === 0 ? fieldsOf(name) : new Map<string, Column>();
    const [id] = letters.length === 1 ? letters.map(({ message }) => message) : [];
    const values =
      id === undefined || revealed === undefined
        ? undefined
        : valuesOf(await showLetter(target, { id, reveal: true, audit, ...revealed }));
    const isHidden = id !== undefined && values === undefined;
    const path = `/letters/${encodeURIComponent(id ?? '')}/message`;
    const later = { later: 'Show the message without personal data', to: path };
    const problems = problemsIn(groups.map(({ error }) => error));
    const form = html`${isHidden ? htmlOf(desk, [later]) : ''}<form method="post" action="/edit" class="fields" tabindex="-1" autofocus aria-label="Edit">${hiddenFields({ ...given, function: name })}
<p>A field that you leave empty stays as it is. Before anything is sent, you see the changes.</p>
<fieldset><legend>Fields of ${name}</legend>${[...fields].map(([path, column]) => fieldOf(path, column, { value: values?.(path), problem: problems(path) }))}</fieldset>
${reasonField(true, revealed?.reason)}${checkbox('includeUncertain', lookedText)}<button>Show the difference in ${countOf(count, 'letter')}</button>${isHidden ? html` <button formaction="/edit/values">Reveal the values</button>` : ''}</form>`;
    const chosen = [
      text(`${matchText(count)}.`),
      groupTable('Letters by cause', groups, 'There is nothing to edit.'),
      ...(count === 0 ? becameOf(filter) : []),
    ];
    return html`${htmlOf(desk, chosen)}${
      count === 0 || readOnly
        ? ''
        : fields.size > 0
          ? offered(desk, '/edit', form)
          : html`<p class="warn">Only letters of one function of this deployment can be edited together: <a href="/letters">choose them</a>.</p>`
    }`;
  };
  addScreen(desk, ['/edit', 'Edit'], (query) => screenOf(query));
  desk.app.post('/edit/values', async (context) => {
    const form = await formOf(context);
    const { signal } = context.req.raw;
    const content = await screenOf(form, { reason: reasonIn(form), signal });
    return render(desk, context, { title: 'Edit', content });
  });

  addVerb(desk, '/edit', (form) => {
    const { filter, given } = filterFrom(form);
    const reason = reasonIn(form);
    if (Object.keys(filter).length === 0)
      throw new UsageError('Which letters? Choose some, or set a filter.');
    const changes = changesIn(form, fieldsOf(form.get('function') ?? ''));
    if (changes.length === 0) throw new UsageError('Nothing is changed. Fill in a field, or remove one.');
    const options = {
      ...{ ...runDefaults, filter, reason, reveal: false, isOpened: false },
      includeUncertain: form.get('includeUncertain') === 'yes',
      change: async (body: string, problem: string | undefined) => {
        if (problem !== undefined) throw new RefusedError(problem);
        return changed(body, changes);
      },
    };
    return runs.begin('Edit', (at) => edit(at, options), runOn('/edit', given, desk));
  });
};

/** The values of a revealed message, as text, by the names of fields. */
const valuesOf = ({ message }: LetterDetails): ((path: string) => string) => {
  const { data } = Object(eventIn(JSON.stringify(message))) as { data?: unknown };
  return (path) => {
    const value = path.split('.').reduce<unknown>((at, part) => Object(at)[part], data);
    if (value === undefined) return 'not set';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
};

/** What these errors say of a field, or of what holds it. */
const problemsIn = (errors: readonly string[]): ((path: string) => string | undefined) => {
  const problems = errors.flatMap((error) =>
    [...error.matchAll(/\bdata\.([\w.[\]-]+): ([^;]+)/g)].map(([, field = '', problem]) => ({
      ...{ field: field.replace(/\[(\d+)\]/g, '.$1'), problem },
    })),
  );
  return (path) => problems.find(({ field }) => field === path || path.startsWith(`${field}.`))?.problem;
};

type Now = { value: string | undefined; problem: string | undefined };

const fieldOf = (path: string, { types, choices }: Column, { value, problem }: Now): Html => {
  const options = types.has('boolean') ? [...choices, 'true', 'false'] : choices;
  const name = `set:${path}`;
  return html`<div class="field">${options.length > 0 ? choice(name, path, { options, none: 'stays' }) : textField(name, path)}
<label class="check"><input type="checkbox" name="unset" value="${path}" aria-label="Remove ${path}"> remove</label>${value === undefined ? '' : html` <span class="quiet">now: ${said(value)}</span>`}${problem === undefined ? '' : html` <span class="problem">${said(problem)}</span>`}</div>`;
};

/** The field's type decides how a value is read: `7` is a number for points, and a text for a comment. */
const changesIn = (form: URLSearchParams, fields: Columns): Change[] => {
  const unset = form.getAll('unset');
  return [...fields].flatMap(([field, { types }]): Change[] => {
    const path = ['data', ...field.split('.')];
    const text = form.get(`set:${field}`) ?? '';
    if (unset.includes(field)) return [{ path }];
    return text === '' ? [] : [{ path, value: typed(text, types) }];
  });
};
