import { type Change, changed } from '../../dead-letters/edit/change.ts';
import { editLetters } from '../../dead-letters/edit/edit.ts';
import { RefusedError, UsageError } from '../../deployment/command-errors.ts';
import { type Html, html } from '../../markup/html.ts';
import { notes } from '../../markup/notes.ts';
import { type Columns, columnsOf } from '../../publish/columns.ts';
import { countOf } from '../../wording/amounts.ts';
import { editPlanNotes } from '../../wording/changes.ts';
import { type App, chosenFrom, type Desk, filterFrom, formOf, queryOf, render } from '../desk.ts';
import { hiddenFields, reasonField } from '../page.ts';
import { resultOf } from './replay.ts';
import { differenceTable, groupTable, rateIn, runDefaults, sendingFields, sendingHooks } from './sending.ts';

export const addEdit = (app: App, desk: Desk): void => {
  const { target, audit, runs, integrations } = desk;
  const fieldsOf = (name: string): Columns => {
    const integration = integrations.get(name);
    return integration === undefined ? new Map() : columnsOf(integration);
  };

  app.get('/edit', async (context) => {
    const { groups, count, given } = await chosenFrom(desk, queryOf(context));
    const names = [...new Set(groups.map(({ function: name }) => name))];
    const [name = ''] = names;
    const fields = fieldsOf(name);
    return render(
      desk,
      context,
      'Edit',
      html`<p>${countOf(count, 'letter matches', 'letters match')}.</p>${groupTable('Letters by cause', groups, 'No letter matches.')}
${
  count === 0 || desk.readOnly
    ? ''
    : names.length > 1 || fields.size === 0
      ? html`<p class="warn">Only letters of one function that is known here can be edited together: <a href="/letters">choose them</a>.</p>`
      : html`<form method="post" action="/edit" class="fields">${hiddenFields({ ...given, function: name })}
<p>What is left empty stays as it is. The values that the letters have are personal, so they are not shown; the difference comes before anything is sent.</p>
<fieldset><legend>Fields of ${name}</legend>${[...fields].map(([path, { types, choices }]) => fieldOf(path, { types, choices }))}</fieldset>
${reasonField(true)}<label class="check"><input type="checkbox" name="includeUncertain" value="yes"> Also those that are uncertain or outdated: I have looked what the platform holds</label>
<button>Show the difference</button></form>`
}`,
    );
  });

  app.post('/edit', async (context) => {
    const form = await formOf(context);
    const { filter } = filterFrom(form);
    const reason = form.get('reason')?.trim() ?? '';
    if (reason === '') throw new UsageError('Why? An edit needs a reason, for the audit log.');
    if (Object.keys(filter).length === 0) throw new UsageError('Which letters? Choose some, or filter them.');
    const changes = changesIn(form, fieldsOf(form.get('function') ?? ''));
    if (changes.length === 0) throw new UsageError('Nothing is changed: fill in a field, or take one away.');
    const options = {
      ...runDefaults,
      filter,
      reason,
      includeUncertain: form.get('includeUncertain') === 'yes',
    };
    const run = runs.begin('Edit', async (at) => {
      const edit: Parameters<typeof editLetters>[1] = {
        ...options,
        ...sendingHooks(at),
        ...{ audit, reveal: false, isOpened: false },
        change: async (body, problem) => {
          if (problem !== undefined) throw new RefusedError(problem);
          return changed(body, changes);
        },
        confirm: async (plan) => {
          at.show(
            'plan',
            html`<h2>Difference</h2>${differenceTable(plan.difference)}${notes(editPlanNotes(plan))}`,
          );
          const act = `Send ${countOf(plan.letters, 'letter')} so`;
          const fields = sendingFields({ ...options, reason: undefined });
          const answer = await at.ask({ text: `Reason: ${reason}`, act, fields });
          edit.rate = rateIn(answer ?? {}, edit.rate);
          return answer !== undefined;
        },
      };
      at.show('result', resultOf(await editLetters(target, edit)));
    });
    return context.redirect(`/runs/${run.id}`, 303);
  });
};

type Field = Columns extends Map<string, infer Told> ? Told : never;

const isNumeric = (types: Set<string>): boolean => types.has('number') || types.has('integer');

const fieldOf = (path: string, { types, choices }: Field): Html => {
  const name = `set:${path}`;
  const all = types.has('boolean') ? [...choices, 'true', 'false'] : choices;
  const input =
    all.length > 0
      ? html`<select name="${name}"><option value="">stays</option>${all.map((each) => html`<option>${each}</option>`)}</select>`
      : html`<input name="${name}"${isNumeric(types) ? html` inputmode="decimal"` : ''} autocomplete="off">`;
  return html`<div class="field"><label>${path} ${input}</label>
<label class="check"><input type="checkbox" name="unset" value="${path}" aria-label="Take ${path} away"> take away</label></div>`;
};

/** A value is what its field's type says: `7` is a number for points, and a text for a comment. */
const changesIn = (form: URLSearchParams, fields: Columns): Change[] =>
  [...fields].flatMap(([path, { types }]): Change[] => {
    const at = ['data', ...path.split('.')];
    if (form.getAll('unset').includes(path)) return [{ path: at }];
    const text = form.get(`set:${path}`) ?? '';
    if (text === '') return [];
    const number = isNumeric(types) && text.trim() !== '' ? Number(text) : Number.NaN;
    if (!Number.isNaN(number)) return [{ path: at, value: number }];
    if (types.has('boolean') && /^(true|false)$/.test(text)) return [{ path: at, value: text === 'true' }];
    return [{ path: at, value: text }];
  });
