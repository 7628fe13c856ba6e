import { type Change, changed } from '../../../operate/messages/edit/change.ts';
import { editLetters } from '../../../operate/messages/edit/edit.ts';
import { runDefaults } from '../../../operate/messages/replay/run-defaults.ts';
import { RefusedError, UsageError } from '../../../operate/stage/command-errors.ts';
import { type Column, type Columns, columnsOf, typed } from '../../../sources/mapping/columns.ts';
import { countOf } from '../../views/amounts.ts';
import { editPlanView } from '../../views/changes.ts';
import { groupTable, matchText } from '../../views/letters.ts';
import { resultView } from '../../views/plan.ts';
import { text } from '../../views/view.ts';
import { addScreen, addVerb, chosenFrom, type Desk, filterFrom, htmlOf, reasonIn } from '../desk.ts';
import { checkbox, choice, hiddenFields, reasonField, textField } from '../html/forms.ts';
import { type Html, html } from '../html/html.ts';
import { lookedText } from './replay.ts';
import { rateIn, sendingFields, sendingHooks } from './sending.ts';

export const addEdit = (desk: Desk): void => {
  const { target, audit, runs, integrations, readOnly } = desk;
  const fieldsOf = (name: string): Columns => {
    const integration = integrations.get(name);
    // Fields whose names come from the platform cannot be listed.
    return new Map(integration && [...columnsOf(integration)].filter(([path]) => !path.endsWith('.*')));
  };

  addScreen(desk, ['/edit', 'Edit'], async (query) => {
    const { groups, count, given } = await chosenFrom(desk, query);
    const [name = '', ...others] = new Set(groups.map((group) => group.function));
    const fields = others.length === 0 ? fieldsOf(name) : new Map<string, Column>();
    const form = html`<form method="post" action="/edit" class="fields" tabindex="-1" autofocus aria-label="Edit">${hiddenFields({ ...given, function: name })}
<p>A field that you leave empty stays as it is. The letters' values are personal, so they are not shown here. Before anything is sent, you see the changes.</p>
<fieldset><legend>Fields of ${name}</legend>${[...fields].map(([path, column]) => fieldOf(path, column))}</fieldset>
${reasonField(true)}${checkbox('includeUncertain', lookedText)}<button>Show the difference in ${countOf(count, 'letter')}</button></form>`;
    const chosen = [
      text(`${matchText(count)}.`),
      groupTable('Letters by cause', groups, 'There is nothing to edit.'),
    ];
    return html`${htmlOf(desk, chosen)}${
      count === 0 || readOnly
        ? ''
        : fields.size > 0
          ? form
          : html`<p class="warn">Only letters of one function of this deployment can be edited together: <a href="/letters">choose them</a>.</p>`
    }`;
  });

  addVerb(desk, '/edit', (form) => {
    const { filter } = filterFrom(form);
    const reason = reasonIn(form);
    if (Object.keys(filter).length === 0)
      throw new UsageError('Which letters? Choose some, or set a filter.');
    const changes = changesIn(form, fieldsOf(form.get('function') ?? ''));
    if (changes.length === 0) throw new UsageError('Nothing is changed. Fill in a field, or remove one.');
    return runs.begin('Edit', async (at) => {
      const options: Parameters<typeof editLetters>[1] = {
        ...{ ...runDefaults, ...sendingHooks(at), filter, reason, audit },
        ...{ includeUncertain: form.get('includeUncertain') === 'yes', reveal: false, isOpened: false },
        change: async (body, problem) => {
          if (problem !== undefined) throw new RefusedError(problem);
          return changed(body, changes);
        },
        confirm: async (plan) => {
          at.show('Difference', editPlanView(plan));
          const act = `Send ${countOf(plan.letters, 'letter')} like this`;
          const answer = await at.ask({ text: `Reason: ${reason}`, act, fields: sendingFields(options) });
          if (answer !== undefined) options.rate = rateIn(answer);
          return answer !== undefined;
        },
      };
      at.show('Result', resultView(await editLetters(target, options)));
    });
  });
};

const fieldOf = (path: string, { types, choices }: Column): Html => {
  const options = types.has('boolean') ? [...choices, 'true', 'false'] : choices;
  const name = `set:${path}`;
  return html`<div class="field">${options.length > 0 ? choice(name, path, { options, none: 'stays' }) : textField(name, path)}
<label class="check"><input type="checkbox" name="unset" value="${path}" aria-label="Remove ${path}"> remove</label></div>`;
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
