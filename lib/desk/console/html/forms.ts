import type { Role } from '../../../stage/roles.ts';
import type { Field, FieldOfMessage, Form } from '../../views/view.ts';
import { type Html, html, said } from './html.ts';

export type Fields = Record<string, string | readonly string[]>;

export const hiddenFields = (fields: Fields): Html[] =>
  Object.entries(fields).flatMap(([name, values]) =>
    [values].flat().map((value) => html`<input type="hidden" name="${name}" value="${value}">`),
  );

/** The reason, for the audit log. */
export const reasonField = (isRequired: boolean, value = ''): Html =>
  html`<label>Reason${isRequired ? '' : html` <span class="quiet">(optional)</span>`} <input name="reason" value="${value}" maxlength="500"${
    isRequired ? html` required pattern=".*\\S.*"` : ''
  } autocomplete="off"></label>`;

export const checkbox = (name: string, text: string, { isChecked = false, isRequired = false } = {}): Html =>
  html`<label class="check"><input type="checkbox" name="${name}" value="yes"${isChecked ? html` checked` : ''}${
    isRequired ? html` required` : ''
  }> ${text}</label>`;

type Text = { value?: string | number | undefined; hint?: string };

export const textField = (name: string, label: string, { value = '', hint = '' }: Text = {}): Html =>
  html`<label>${label} <input name="${name}" value="${value}" placeholder="${hint}" autocomplete="off"></label>`;

/** The first option, `none`, is an empty value. */
export const choice = (
  name: string,
  label: string,
  { options, none, chosen = [] }: { options: readonly string[]; none?: string; chosen?: readonly string[] },
): Html =>
  html`<label>${label} <select name="${name}">${none === undefined ? '' : html`<option value="">${none}</option>`}${options.map(
    (each) => html`<option${chosen.includes(each) ? html` selected` : ''}>${each}</option>`,
  )}</select></label>`;

export const fieldOf = (field: Field): Html => {
  if ('reason' in field) return reasonField(field.reason === 'required', field.value);
  if ('checkbox' in field) return checkbox(field.checkbox, field.label, field);
  if ('path' in field) return fieldOfMessage(field);
  return 'choice' in field
    ? choice(field.choice, field.label, field)
    : textField(field.field, field.label, field);
};

const fieldOfMessage = ({ path, options, typed = '', isRemoved, now, problem }: FieldOfMessage): Html => {
  const name = `set:${path}`;
  const input =
    options.length > 0
      ? choice(name, path, { options, none: 'stays', chosen: [typed] })
      : textField(name, path, { value: typed });
  return html`<div class="field">${input}
<label class="check"><input type="checkbox" name="unset:${path}" value="yes" aria-label="Remove ${path}"${isRemoved ? html` checked` : ''}> remove</label>${
    now === undefined ? '' : html` <span class="quiet">now: ${said(now)}</span>`
  }${problem === undefined ? '' : html` <span class="problem">${said(problem)}</span>`}</div>`;
};

/** A form that IAM would refuse. */
export const locked = (role: Role, form: Html): Html =>
  html`<fieldset class="locked" disabled>${form}</fieldset><p class="quiet">This needs the role ${role}.</p>`;

export const formOf = ({ summary, ...form }: Form, isShort = false): Html =>
  summary === undefined
    ? closedForm(form, isShort)
    : html`<details><summary>${summary}</summary>${closedForm(form, isShort)}</details>`;

const closedForm = (
  { action, hidden = {}, fields = [], buttons, isSearch, isMain }: Form,
  isShort: boolean,
): Html => {
  // A form with only a button is shown inline.
  const kind = fields.length === 0 ? html` class="inline"` : '';
  const how = isSearch ? html`method="get" class="filter" role="search"` : html`method="post"${kind}`;
  const focus = isMain ? html` tabindex="-1" autofocus aria-label="${buttons[0]?.text ?? ''}"` : '';
  return html`<form ${how} action="${action}"${focus}>${hiddenFields(hidden)}${fields.map(fieldOf)}${buttons.map(
    ({ text, value, isDestructive, short }, at) => {
      const look = [isMain && at === 0 && 'main', isDestructive && 'danger'].filter(Boolean).join(' ');
      return html`<button${value === undefined ? '' : html` name="decision" value="${value}"`}${look === '' ? '' : html` class="${look}"`}${isShort && short ? html` aria-label="${text}"` : ''}>${isShort && short ? short : text}</button> `;
    },
  )}</form>`;
};
