import { plain } from '../../../runtime/privacy/printable.ts';
import type { Role } from '../../../stage/roles.ts';
import { ageOf, numberOf, shareText } from '../../views/amounts.ts';
import type { Block, Cell, Form, Link, Note, Piece, Table, View, Words } from '../../views/view.ts';
import { bar, columns } from './chart.ts';
import { formOf, locked } from './forms.ts';
import { type Html, html, said } from './html.ts';

type Showing = {
  /** `page`: a standalone page without links. */
  as?: 'console' | 'read-only' | 'page';
  /** The level of its headings. */
  level?: number;
  /** The role that a form or a change at this address needs and that the caller lacks. */
  lacks?(address: string): Role | undefined;
};

export const shown = (view: View, showing: Showing = {}): Html =>
  html`${view.map((block) => block && blockOf(block, showing))}`;

const blockOf = (block: Block, showing: Showing): Html => {
  if ('heading' in block)
    return headingOf(html`<span class="${block.tone ?? 'plain'}">${said(block.heading)}</span>`, showing);
  if ('part' in block) return partOf(block, showing);
  if ('tone' in block)
    return block.tone === 'quiet'
      ? html`<p class="quiet">${said(sentenceOf(block))}</p>`
      : noteOf(block, showing);
  if ('text' in block) return html`<p>${block.text.map((each) => pieceOf(each, showing))}</p>`;
  if ('quote' in block) return html`<blockquote>${said(block.quote)}</blockquote>`;
  if ('list' in block)
    return html`<ul>${block.list.map((item) => html`<li>${item.map((each) => pieceOf(each, showing))}</li>`)}</ul>`;
  if ('facts' in block)
    return html`<dl class="facts">${block.facts.map(([label, value]) => html`<dt>${label}</dt><dd>${pieceOf(value, showing)}</dd>`)}</dl>`;
  if ('table' in block) return tableOf(block.table, showing);
  if ('charts' in block) return html`<div class="cards">${block.charts.map(columns)}</div>`;
  if ('more' in block) return html`<p class="quiet">${block.more}.</p>`;
  if ('document' in block) return documentOf(block);
  if ('action' in block) return formIn(block, showing);
  if ('later' in block) return html`<p data-load="${block.to}"><a href="${block.to}">${block.later}</a></p>`;
  if ('links' in block) return linksOf(block.links, showing);
  // Commands are for a terminal.
  return html``;
};

const headingOf = (content: Html | string, { level = 2 }: Showing): Html =>
  level === 2 ? html`<h2>${content}</h2>` : html`<h3>${content}</h3>`;

type Part = Extract<Block, { part: View }>;

const partOf = ({ title, isFirst = false, part }: Part, showing: Showing): Html => {
  if (title === undefined) return shown(part, showing);
  const inside = shown(part, { ...showing, level: 3 });
  return html`<section${isFirst ? html` class="first" tabindex="-1"` : ''}>${headingOf(title, showing)}${inside}</section>`;
};

/** Signs for readers who do not see the colours. */
const marks = { good: '✓', bad: '✗', unknown: '?', warn: '!', todo: '→', plain: '', quiet: '' } as const;

const sentenceOf = ({ text, command }: Note): string => (command === undefined ? text : `${text}.`);

const noteOf = (note: Note, showing: Showing): Html => {
  const sentence = pieceOf({ text: sentenceOf(note), ...(note.to && { to: note.to }) }, showing);
  return html`<p class="note ${note.tone}"><span aria-hidden="true">${marks[note.tone]}</span> ${sentence}</p>`;
};

const linksOf = (links: readonly Link[], { as, lacks }: Showing): Html => {
  if (as === 'page') return html``;
  const offered = links.filter(({ isChange }) => !isChange || as !== 'read-only');
  if (offered.length === 0) return html``;
  return html`<div class="actions">${offered.map(({ text, to, isChange }) => linkOf(text, to, isChange && lacks?.(to)))}</div>`;
};

const linkOf = (text: string, to: string, lacking: Role | undefined): Html =>
  lacking === undefined
    ? html`<a class="button" href="${to}">${text}</a> `
    : html`<button disabled>${text}</button> <span class="quiet">needs the role ${lacking}</span> `;

const documentOf = ({ document, label }: { document: unknown; label: string }): Html => {
  const text = typeof document === 'string' ? document : (JSON.stringify(document, null, 2) ?? 'nothing');
  return html`<pre tabindex="0" role="region" aria-label="${label}"><bdi>${text.split('\n').map(plain).join('\n')}</bdi></pre>`;
};

const formIn = (form: Form, { as = 'console', lacks }: Showing): Html => {
  const isSearch = form.isSearch ?? false;
  if (as !== 'console' && !(as === 'read-only' && (form.isHarmless || isSearch))) return html``;
  const lacking = isSearch ? undefined : lacks?.(form.action);
  return lacking === undefined ? formOf(form) : locked(lacking, formOf(form));
};

const pieceOf = (piece: Piece, { as }: Showing): Html | string => {
  if (piece === undefined) return '–';
  if (typeof piece === 'number') return piece === 0 ? '–' : numberOf(piece);
  if (typeof piece === 'string') return said(piece);
  const { text, tone, to, code, badge } = piece;
  if (badge && to === undefined) return html`<bdi class="badge ${tone ?? 'plain'}">${plain(text)}</bdi>`;
  const inside = code ? html`<code>${said(text)}</code>` : said(text);
  const led = to === undefined || as === 'page' ? inside : html`<a href="${to}">${inside}</a>`;
  return tone === undefined ? led : html`<span class="${badge ? 'badge ' : ''}${tone}">${led}</span>`;
};

const isList = (cell: Cell): cell is readonly Words[] => Array.isArray(cell);
const isTick = (cell: Cell): boolean => typeof cell === 'object' && 'tick' in cell;
const isNothing = (cell: Cell): boolean =>
  !cell || cell === '–' || (typeof cell === 'object' && 'sinceMs' in cell && cell.sinceMs === undefined);
const isNumber = (cell: Cell): boolean =>
  typeof cell === 'number' || (typeof cell === 'object' && ('sinceMs' in cell || 'count' in cell));

const cellOf = (cell: Cell, showing: Showing): Html | string => {
  if (typeof cell !== 'object') return pieceOf(cell, showing);
  if (isList(cell)) return html`${cell.map((each) => html`${pieceOf(each, showing)} `)}`;
  if ('sinceMs' in cell) return cell.sinceMs === undefined ? '–' : ageOf(cell.sinceMs);
  if ('count' in cell) return shareText(cell);
  if ('tick' in cell)
    return html`<input type="checkbox" name="selected" value="${cell.tick}"${cell.isTicked ? html` checked` : ''} aria-label="Tick ${cell.tick.slice(0, 8)}">`;
  return 'action' in cell ? formIn(cell, showing) : pieceOf(cell, showing);
};

const tickAll = html`<input type="checkbox" data-all aria-label="Tick all letters of this page" hidden>`;

const labelOf = (title: string | Words = ''): string => plain(typeof title === 'string' ? title : title.text);

const numberClass = (isRight = false): Html | string => (isRight ? html` class="number"` : '');

/** Scrolls by itself on a narrow screen, also by keyboard. */
const tableOf = (given: Table, showing: Showing): Html => {
  const { caption, titles, rows, hasBars } = given;
  if (rows.some(({ under }) => under !== undefined))
    return html`${rows.map((row) => entryOf(row, { given, showing }))}`;
  const isRight = titles.map((_, at) => rows.some(({ cells }) => isNumber(cells[at])));
  const drawn = hasBars
    ? titles.findIndex((_, at) => rows.some(({ cells }) => typeof cells[at] === 'number'))
    : -1;
  const most = Math.max(1, ...rows.map(({ cells }) => Number(cells[drawn] ?? 0)));
  const head = titles.map((title, at) => {
    const isTicked = rows.some(({ cells }) => isTick(cells[at]));
    return html`<th scope="col"${numberClass(isRight[at])}>${isTicked ? tickAll : pieceOf(title, showing)}</th>`;
  });
  // A small screen shows each row as a list, with the titles before the cells.
  const td = (cell: Cell, at: number): Html =>
    html`<td${numberClass(isRight[at])} data-title="${labelOf(titles[at])}"${isNothing(cell) ? html` data-nothing` : ''}>${cellOf(cell, showing)}${at === drawn ? bar(Number(cell) / most) : ''}</td>`;
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption class="unseen">${caption}</caption><thead><tr>${head}</tr></thead>
<tbody>${rows.map(({ cells }) => html`<tr>${cells.map(td)}</tr>`)}</tbody></table></div>`;
};

/** Number of cells in the heading of a row that is shown by itself; the others are shown below it, with their titles. */
const inHeading = 3;

const entryOf = (
  { cells, id, under = [] }: Table['rows'][number],
  { given: { titles }, showing }: { given: Table; showing: Showing },
): Html => {
  const heading = cells.slice(0, inHeading).map((cell) => html`${cellOf(cell, showing)} `);
  const others = cells
    .slice(inHeading)
    .map(
      (cell, at) =>
        html`${at > 0 ? ' · ' : ''}${pieceOf(titles[at + inHeading], showing)}: ${cellOf(cell, showing)}`,
    );
  return html`<article class="cause"${id === undefined ? '' : html` id="${id}"`}>${headingOf(html`${heading}`, showing)}
${others.length === 0 ? '' : html`<p class="quiet">${others}</p>`}${shown(under, { ...showing, level: 3 })}</article>`;
};
