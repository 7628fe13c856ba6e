import type { PlannedGroup } from '../../dead-letters/replay/plan.ts';
import { needsDecision } from '../../failure.ts';
import { button } from '../../markup/forms.ts';
import { badge, type Html, html, said } from '../../markup/html.ts';
import { type Columns, table } from '../../markup/table.ts';
import { causeText, subjectOf } from '../../views/letters.ts';
import { href } from '../../views/view.ts';

/** Columns that several screens have. */

export const letterLink = (id: string): Html =>
  html`<a href="/letters/${encodeURIComponent(id)}">${id.slice(0, 8)}</a>`;

export const traceLink = (id: string): Html =>
  html`<a href="${href('/trace', { id })}">${id.slice(0, 8)}</a>`;

export const origin: Columns<{ function: string; kind: string }> = {
  Function: ({ function: name }) => said(name || '–'),
  Kind: ({ kind }) => (kind === '' ? '' : badge(kind)),
};

export const about: Columns<Parameters<typeof subjectOf>[0]> = {
  'User · course · thing': (each) => subjectOf(each) || '–',
};

export const failed: Columns<Parameters<typeof causeText>[0]> = {
  'What failed': (each) => said(causeText(each)),
};

/** Letters whom their cause or their ids name. */
type Which = { cause: string } | { id: string };

export const actionLink = (path: string, text: string, which: Which): Html =>
  html`<a class="button" href="${href(path, which)}">${text}</a>`;

/** What comes first with letters of a kind; with some, nothing does. */
export const firstAction = (kind: string, which: Which): Html => {
  if (needsDecision(kind)) return actionLink('/uncertain', 'Look, then decide', which);
  return kind === 'unknown-source' ? html`` : button('/replay', 'Plan a replay', which);
};

export const groupTable = (caption: string, groups: readonly PlannedGroup[], empty = ''): Html =>
  table(caption, groups, { Letters: ({ letters }) => letters, ...origin, ...failed }, { empty });

export const clock = (ms: number): string => `${new Date(ms).toISOString().slice(11, 19)} UTC`;
