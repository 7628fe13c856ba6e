import { plain } from '../../../runtime/privacy/printable.ts';
import type { Role } from '../../../stage/roles.ts';
import { ageOf, numberOf, shareText } from '../../views/format.ts';
import type {
  Block,
  Cell,
  Figure,
  Form,
  Link,
  Moment,
  Note,
  Piece,
  Severity,
  Step,
  StyledText,
  Table,
  View,
} from '../../views/view.ts';
import { bar, columns } from './chart.ts';
import { formOf, locked } from './forms.ts';
import { type Html, html, said, withoutCommands } from './html.ts';

type RenderOptions = {
  /** `page`: a standalone page without links. */
  as?: 'console' | 'read-only' | 'page';
  /** The level of its headings. */
  level?: number;
  /** The role that a form or a change at this address needs and that the caller lacks. */
  lacks?(address: string): Role | undefined;
  /** Its buttons have their short texts. */
  isShort?: boolean;
};

export const shown = (view: View, showing: RenderOptions = {}): Html => {
  const runs: { is: 'steps' | 'actions' | 'other'; blocks: Block[] }[] = [];
  for (const block of view) {
    // Commands are for a terminal.
    if (!block || ('command' in block && !('text' in block))) continue;
    const is = 'step' in block ? 'steps' : isAction(block) ? 'actions' : 'other';
    const last = runs.at(-1);
    if (is !== 'other' && last?.is === is) last.blocks.push(block);
    else runs.push({ is, blocks: [block] });
  }
  return html`${runs.map(({ is, blocks }) => {
    if (is === 'steps')
      return html`<ol class="steps">${blocks.map((each) => stepOf(each as Step, showing))}</ol>`;
    return is === 'actions' ? actionsOf(blocks, showing) : blocks.map((each) => blockOf(each, showing));
  })}`;
};

type Action = Form | { links: readonly Link[] };

/** A button or a link to press, without anything to fill in. */
const isAction = (block: Block): block is Action =>
  'links' in block ||
  ('action' in block && !block.isMain && (block.fields ?? []).length === 0 && block.summary === undefined);

/** In one row; if one of them is the main one, it comes first. */
const actionsOf = (blocks: readonly Block[], showing: RenderOptions): Html => {
  const all = blocks.flatMap((block): (Html | undefined)[] => {
    if ('links' in block) return linksOf(block.links, showing);
    return 'action' in block ? [formIn(block, showing)] : [];
  });
  const offered = all.filter((each) => each !== undefined);
  return offered.length === 0 ? html`` : html`<div class="actions">${offered}</div>`;
};

const blockOf = (block: Block, showing: RenderOptions): Html => {
  if ('heading' in block)
    return headingOf(html`<span class="${block.tone ?? 'plain'}">${said(block.heading)}</span>`, showing);
  if ('part' in block) return partOf(block, showing);
  if ('actions' in block) return html`<div class="act main">${shown(block.actions, showing)}</div>`;
  if ('figures' in block) return figuresOf(block, showing);
  if ('fold' in block) return foldOf(block, showing);
  if ('timeline' in block) return timelineOf(block.timeline);
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
  if ('action' in block) return formIn(block, showing) ?? html``;
  if ('later' in block) return html`<p data-load="${block.to}"><a href="${block.to}">${block.later}</a></p>`;
  return html``;
};

const severities: Record<Severity, string> = {
  now: 'Act now',
  today: 'Today',
  watch: 'Watch',
  note: 'Note',
  shortcut: 'All at once',
};

/** One row with one button. Where there are many, each of its texts is cut to one line, until it is opened. */
const stepOf = ({ step, severity, card, next }: Step, showing: RenderOptions): Html => {
  const { title = sentenceOf(step), text: what, whom = '' } = card ?? {};
  const [remedy] = next.filter((each): each is Note => !!each && 'tone' in each && each.tone === 'todo');
  const actions = next.flatMap((each): Action[] => {
    if (!each || !isAction(each)) return [];
    return 'links' in each ? each.links.map((link) => ({ links: [link] })) : [each];
  });
  const [main, ...others] = actions.filter((each) => isOffered(each, showing));
  const rest = next.filter((each) => each !== remedy && !(each && isAction(each)));
  const inside = shown([...rest, ...others], { ...showing, level: 3 });
  const isCut = card !== undefined || remedy !== undefined || String(inside) !== '';
  const about = [what, whom].filter(Boolean).join(' · ');
  return html`<li class="step ${severity}"><span class="badge ${severity}">${severities[severity]}</span>
<p class="title" title="${plain(title)}">${pieceOf({ text: title, ...(step.to && { to: step.to }) }, showing)}</p>${
    about === '' ? '' : html`<p class="what" title="${plain(about)}">${said(about)}</p>`
  }${remedy === undefined ? '' : html`<p class="remedy">→ ${said(sentenceOf(remedy))}</p>`}${
    main === undefined
      ? ''
      : html`<div class="act main">${actionsOf([main], { ...showing, isShort: true })}</div>`
  }${isCut ? html`<details class="more"><summary aria-label="More about: ${plain(title)}">More</summary>${inside}</details>` : ''}</li>`;
};

const isOffered = (action: Action, { as = 'console' }: RenderOptions): boolean =>
  as === 'console' ||
  (as === 'read-only' && ('links' in action ? !action.links[0]?.isChange : action.isHarmless === true));

const figuresOf = (
  { figures, health, beside }: Extract<Block, { figures: readonly Figure[] }>,
  showing: RenderOptions,
): Html =>
  // A small screen has them in one line, until it is opened.
  html`<details class="fold"><summary>${figures.slice(0, 2).map(({ label, value }) => html`${label}: ${value} · `)}<span class="${health.tone}">${marks[health.tone]} ${said(sentenceOf(health))}</span></summary><div class="strip"><div><dl class="figures">${figures.map(
    ({ label, value, tone = 'plain', to, note }) =>
      html`<div><dt>${label}</dt><dd class="${tone}">${pieceOf({ text: value, ...(to && { to }) }, showing)}${note === undefined ? '' : html` <span class="quiet">${note}</span>`}</dd></div>`,
  )}</dl>${noteOf(health, showing)}</div>${blockOf(beside, showing)}</div></details>`;

const foldOf = (
  { fold, summary, tone = 'plain' }: Extract<Block, { fold: View }>,
  showing: RenderOptions,
): Html => {
  if (showing.as === 'page') return shown(fold, showing);
  return html`<details class="panel" id="details"><summary><span class="${tone}">${said(summary)}</span></summary>${shown(fold, showing)}</details>`;
};

/** `30 Nov`, and `04:36:59`. */
const dayText = (at: string): string =>
  new Date(at).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });

const timelineOf = (moments: readonly Moment[]): Html =>
  html`<ol class="timeline">${moments.map(({ at, text, tone, more = [], remedy }, index) => {
    const day = dayText(at);
    const isNewDay = index === 0 || dayText(moments[index - 1]?.at ?? '') !== day;
    const explained = remedy === undefined ? more : [...more, `→ ${remedy}`];
    return html`<li class="${tone}">${isNewDay ? html`<span class="day">${day}</span>` : ''}<time datetime="${at}">${at.slice(11, 19)}</time><div><p class="${tone}">${said(text)}</p>${explained.map((each) => html`<p class="quiet">${said(each)}</p>`)}</div></li>`;
  })}</ol>`;

const headingOf = (content: Html | string, { level = 2 }: RenderOptions): Html =>
  level === 2 ? html`<h2>${content}</h2>` : html`<h3>${content}</h3>`;

type Part = Extract<Block, { part: View }>;

const partOf = ({ title, isFirst = false, part }: Part, showing: RenderOptions): Html => {
  if (title === undefined) return shown(part, showing);
  const inside = shown(part, { ...showing, level: 3 });
  return html`<section${isFirst ? html` class="first" tabindex="-1"` : ''}>${headingOf(title, showing)}${inside}</section>`;
};

/** Signs for readers who do not see the colours. */
const marks = { good: '✓', bad: '✗', unknown: '?', warn: '!', todo: '→', plain: '', quiet: '' } as const;

const sentenceOf = ({ text, command }: Note): string =>
  command === undefined ? withoutCommands(text) : `${withoutCommands(text)}.`;

const noteOf = (note: Note, showing: RenderOptions): Html => {
  const sentence = pieceOf({ text: sentenceOf(note), ...(note.to && { to: note.to }) }, showing);
  return html`<p class="note ${note.tone}"><span aria-hidden="true">${marks[note.tone]}</span> ${sentence}</p>`;
};

const linksOf = (links: readonly Link[], { as, lacks, isShort }: RenderOptions): Html[] => {
  if (as === 'page') return [];
  const offered = links.filter(({ isChange }) => !isChange || as !== 'read-only');
  return offered.map((link) =>
    linkOf(isShort ? { ...link, text: link.short ?? link.text } : link, link.isChange && lacks?.(link.to)),
  );
};

const linkOf = ({ text, to, isDestructive }: Link, lacking: Role | undefined): Html =>
  lacking === undefined
    ? html`<a class="button${isDestructive ? ' danger' : ''}" href="${to}">${text}</a> `
    : html`<button disabled>${text}</button> <span class="quiet">needs the role ${lacking}</span> `;

type Document = Extract<Block, { document: unknown }>;

const documentOf = ({ document, label, problems = [] }: Document): Html => {
  const lines =
    typeof document === 'string'
      ? document.split('\n').map((line) => ({ line, path: '' }))
      : jsonLines(document);
  // A problem of something that is missing is shown where it would be: at the end of what should hold it.
  const marked = new Map<number, string>();
  for (const { path, problem } of problems) {
    const place = placeOf(path, lines);
    if (place !== undefined && !marked.has(place)) marked.set(place, problem);
  }
  return html`<pre tabindex="0" role="region" aria-label="${label}"><bdi>${lines.map(({ line }, at) => {
    const problem = marked.get(at);
    return problem === undefined
      ? html`${plain(line)}\n`
      : html`<mark>${plain(line)}<span class="problem"> ← ${plain(problem)}</span></mark>\n`;
  })}</bdi></pre>`;
};

type DocumentLine = { line: string; path: string };

const placeOf = (path: string, lines: readonly DocumentLine[]): number | undefined => {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    const found = lines.findIndex((each) => each.path === at);
    if (found >= 0) return found;
  }
  return undefined;
};

/** As JSON, with the path of the value that begins in each line. */
const jsonLines = (value: unknown): DocumentLine[] => {
  const lines: DocumentLine[] = [];
  const add = (
    value: unknown,
    path: string,
    { before, after, depth }: { before: string; after: string; depth: number },
  ): void => {
    const pad = '  '.repeat(depth);
    const isList = Array.isArray(value);
    const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    if (entries.length === 0) {
      lines.push({ line: `${pad}${before}${JSON.stringify(value) ?? 'nothing'}${after}`, path });
      return;
    }
    lines.push({ line: `${pad}${before}${isList ? '[' : '{'}`, path });
    for (const [at, [name, inside]] of entries.entries())
      add(inside, path === '' ? name : `${path}.${name}`, {
        before: isList ? '' : `${JSON.stringify(name)}: `,
        after: at === entries.length - 1 ? '' : ',',
        depth: depth + 1,
      });
    lines.push({ line: `${pad}${isList ? ']' : '}'}${after}`, path: '' });
  };
  add(value, '', { before: '', after: '', depth: 0 });
  return lines;
};

/** Undefined: it is not shown. */
const formIn = (form: Form, { as = 'console', lacks, isShort }: RenderOptions): Html | undefined => {
  const isSearch = form.isSearch ?? false;
  if (as !== 'console' && !(as === 'read-only' && (form.isHarmless || isSearch))) return undefined;
  const lacking = isSearch ? undefined : lacks?.(form.action);
  return lacking === undefined ? formOf(form, isShort) : locked(lacking, formOf(form, isShort));
};

const pieceOf = (piece: Piece, { as }: RenderOptions): Html | string => {
  if (piece === undefined) return '–';
  if (typeof piece === 'number') return piece === 0 ? '–' : numberOf(piece);
  if (typeof piece === 'string') return said(withoutCommands(piece));
  const { tone, to, code, badge } = piece;
  const text = withoutCommands(piece.text);
  if (badge && to === undefined) return html`<bdi class="badge ${tone ?? 'plain'}">${plain(text)}</bdi>`;
  const inside = code ? html`<code>${said(text)}</code>` : said(text);
  const led = to === undefined || as === 'page' ? inside : html`<a href="${to}">${inside}</a>`;
  return tone === undefined ? led : html`<span class="${badge ? 'badge ' : ''}${tone}">${led}</span>`;
};

const isList = (cell: Cell): cell is readonly StyledText[] => Array.isArray(cell);
const isTick = (cell: Cell): boolean => typeof cell === 'object' && 'tick' in cell;
const isNothing = (cell: Cell): boolean =>
  !cell || cell === '–' || (typeof cell === 'object' && 'sinceMs' in cell && cell.sinceMs === undefined);
const isCutCell = (cell: Cell): cell is StyledText => typeof cell === 'object' && 'isApart' in cell;
const isNumber = (cell: Cell): boolean =>
  typeof cell === 'number' || (typeof cell === 'object' && ('sinceMs' in cell || 'count' in cell));

const cellOf = (cell: Cell, showing: RenderOptions): Html | string => {
  if (typeof cell !== 'object') return pieceOf(cell, showing);
  if (isList(cell)) return html`${cell.map((each) => html`${pieceOf(each, showing)} `)}`;
  if ('sinceMs' in cell) return cell.sinceMs === undefined ? '–' : ageOf(cell.sinceMs);
  if ('count' in cell) return shareText(cell);
  if ('tick' in cell)
    return html`<input type="checkbox" name="selected" value="${cell.tick}"${cell.isTicked ? html` checked` : ''} aria-label="Tick ${cell.tick.slice(0, 8)}">`;
  return 'action' in cell ? (formIn(cell, showing) ?? '') : pieceOf(cell, showing);
};

const tickAll = html`<input type="checkbox" data-all aria-label="Tick all letters of this page" hidden>`;

const labelOf = (title: string | StyledText = ''): string =>
  plain(typeof title === 'string' ? title : title.text);

const classOf = (...names: (string | false | undefined)[]): Html | string => {
  const given = names.filter(Boolean).join(' ');
  return given === '' ? '' : html` class="${given}"`;
};

/** Scrolls by itself on a narrow screen, also by keyboard. */
const tableOf = (given: Table, showing: RenderOptions): Html => {
  const { caption, titles, rows, hasBars, minor = [] } = given;
  if (rows.some(({ under }) => under !== undefined))
    return html`<div class="entries">${rows.map((row) => entryOf(row, { given, showing }))}</div>`;
  const isRight = titles.map((_, at) => rows.some(({ cells }) => isNumber(cells[at])));
  const drawn = hasBars
    ? titles.findIndex((_, at) => rows.some(({ cells }) => typeof cells[at] === 'number'))
    : -1;
  const most = Math.max(1, ...rows.map(({ cells }) => Number(cells[drawn] ?? 0)));
  const classAt = (at: number) =>
    classOf(isRight[at] && 'number', minor.includes(labelOf(titles[at])) && 'minor');
  const head = titles.map((title, at) => {
    const isTicked = rows.some(({ cells }) => isTick(cells[at]));
    return html`<th scope="col"${classAt(at)}>${isTicked ? tickAll : pieceOf(title, showing)}</th>`;
  });
  // A small screen shows each row as a list, with the titles before the cells.
  const td = (cell: Cell, at: number): Html =>
    html`<td${classAt(at)} data-title="${labelOf(titles[at])}"${isCutCell(cell) ? html` title="${plain(cell.text)}"` : ''}${isNothing(cell) ? html` data-nothing` : ''}>${cellOf(cell, showing)}${at === drawn ? bar(Number(cell) / most) : ''}</td>`;
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption class="unseen">${caption}</caption><thead><tr>${head}</tr></thead>
<tbody>${rows.map(({ cells }) => html`<tr>${cells.map(td)}</tr>`)}</tbody></table></div>`;
};

/** Number of cells in the heading of a row that is shown by itself; the others are shown below it, with their titles. */
const inHeading = 3;

const entryOf = (
  { cells, id, under = [] }: Table['rows'][number],
  { given: { titles }, showing }: { given: Table; showing: RenderOptions },
): Html => {
  const heading = cells.slice(0, inHeading).map((cell) => html`${cellOf(cell, showing)} `);
  const others = cells
    .slice(inHeading)
    .map(
      (cell, at) =>
        html`${at > 0 ? ' · ' : ''}${pieceOf(titles[at + inHeading], showing)}: ${cellOf(cell, showing)}`,
    );
  const isButton = (block: View[number]): boolean => !!block && isAction(block);
  const inside = { ...showing, level: 3 };
  return html`<article class="cause"${id === undefined ? '' : html` id="${id}"`}>${headingOf(html`${heading}`, showing)}
${others.length === 0 ? '' : html`<p class="quiet">${others}</p>`}${shown(
  under.filter((each) => !isButton(each)),
  inside,
)}<div class="act main">${shown(under.filter(isButton), { ...inside, isShort: true })}</div></article>`;
};
