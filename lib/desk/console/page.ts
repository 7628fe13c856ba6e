import { options } from '../../options.ts';
import { type Html, html } from './html/html.ts';

/** The screens in the head of every page: the first at `/`, the others at their names. */
const screens = [
  'Overview',
  'Causes',
  'Letters',
  'Uncertain',
  'Publish',
  ...options.flatMap(({ tabs }) => tabs ?? []),
  'Trace',
  'Log',
  'Runs',
];

export type Frame = Record<'title' | 'path' | 'name' | 'who' | 'proof', string> & { readOnly: boolean };

/** A whole page. Its title contains only the screen's name, because titles stay in the browser's history. */
export const page = ({ title, path, name, who, readOnly, proof }: Frame, content: Html): Html =>
  bare(
    `${title} · ${name}`,
    html`<header class="head"><a class="skip" href="#main">To the content</a>
<p class="stage"><span class="unseen">Stage </span>${name}${readOnly ? html` <span class="badge warn">read only</span>` : ''}</p>
<nav aria-label="Screens"><ul>${screens.map((screen, at) => tab(screen, { to: at === 0 ? '/' : `/${screen.toLowerCase()}`, path, key: at + 1 }))}</ul></nav></header>
<main id="main" tabindex="-1"><h1>${title}</h1>${content}</main>
<footer><p>You are ${who}; every change is written to the audit log. The console ends by itself when it is not used. With your browser’s access key (in Chrome and Edge Alt, on a Mac Control and Option, in Firefox also Shift), 1 to 9 lead to the first screens.</p></footer>`,
    proof,
  );

/** A page without the head, for users who have not signed in. */
export const bare = (title: string, body: Html, proof = ''): Html => html`<!doctype html>
<html lang="en" data-proof="${proof}"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/console.css"><link rel="icon" href="/icon.svg"><script type="module" src="/console.js"></script></head>
<body>${body}</body></html>`;

const tab = (screen: string, { to, path, key }: { to: string; path: string; key: number }): Html => {
  const isHere = path === to || (to !== '/' && path.startsWith(`${to}/`));
  return html`<li><a href="${to}"${key < 10 ? html` accesskey="${key}"` : ''}${isHere ? html` aria-current="page"` : ''}>${screen}</a></li>`;
};
