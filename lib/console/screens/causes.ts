import type { Group } from '../../dead-letters/reading/groups.ts';
import { badge, type Html, html, notes, said } from '../../markup/html.ts';
import { ageOf, countOf, numberOf } from '../../views/amounts.ts';
import { adviceNotes, differText } from '../../views/letters.ts';
import { addScreen, type Desk } from '../desk.ts';
import { actionLink, clock, firstAction } from './cells.ts';

export const addCauses = (desk: Desk): void => {
  addScreen(desk, ['/causes', 'Causes'], async () => {
    const { value, atMs } = await desk.lists.letters.get();
    const { groups, all, queued } = value;
    return html`<p>${countOf(all.length, 'letter')} of ${countOf(groups.length, 'cause')}, as of ${clock(atMs)}.
<span class="quiet">${differText({ listed: all.length, queued })}</span></p>
${groups.length === 0 ? html`<p class="good">There are no dead letters.</p>` : groups.map((group) => causeOf(group, desk))}`;
  });
};

const causeOf = (group: Group, { readOnly }: Desk): Html => {
  const { cause, function: name, kind, error, words, letters, oldestMs, newestMs } = group;
  const link = (path: string, text: string): Html => actionLink(path, text, { cause });
  return html`<article class="cause" id="${cause}"><h2><span class="count">${numberOf(letters)}</span> ${said(name || '–')} ${badge(kind)}</h2>
<p>${said(error)}</p>${words.map((each) => html`<blockquote>${said(each)}</blockquote>`)}${notes(adviceNotes(group))}
<p class="quiet">The oldest ${ageOf(oldestMs)}, the newest ${ageOf(newestMs)} old.</p>
<div class="actions">${firstAction(kind, { cause })}
${link('/letters', 'Letters')} ${readOnly ? '' : html`${link('/edit', 'Edit')} ${link('/discard', 'Discard')}`}</div></article>`;
};
