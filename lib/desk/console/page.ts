import { options } from '../../options.ts';
import { type Html, html, said } from './html/html.ts';

/** The screens in the head of every page: the first at `/`, the others at their names. */
const screens = [
  'Overview',
  'Causes',
  'Letters',
  'Uncertain',
  'Waiting',
  'Publish',
  ...options.flatMap(({ tabs }) => tabs ?? []),
  'Trace',
  'Log',
  'Runs',
];

/** The key that leads to each screen after `g`: the first letter of its name that no screen before it has. */
const keyOf = new Map<string, string>();
for (const name of screens) {
  const taken = new Set(keyOf.values());
  keyOf.set(name, [...name.toLowerCase()].find((letter) => !taken.has(letter)) ?? '');
}

export type Frame = Record<'title' | 'heading' | 'path' | 'name' | 'who' | 'proof', string> &
  Record<'readOnly' | 'hasKeys', boolean>;

/** A whole page. Its title contains only the screen's name, because titles stay in the browser's history. */
export const page = (
  { title, heading, path, name, who, readOnly, proof, hasKeys }: Frame,
  content: Html,
): Html =>
  bare(
    `${title} · ${name}`,
    html`<header class="head"><a class="skip" href="#main">To the content</a>
<p class="stage"><span class="unseen">Stage </span>${name}${readOnly ? html` <span class="badge watch">read only</span>` : ''}</p>
<form method="post" action="/find" role="search" aria-label="Find anything" class="find"><input name="text" type="search" placeholder="Search" aria-label="Search for a letter, event, user, course, cause or error" maxlength="256" autocomplete="off" required><kbd aria-hidden="true">/</kbd></form>
<details class="fold menu"><summary>Menu</summary><nav aria-label="Screens"><ul>${screens.map((screen, at) => tab(screen, { to: at === 0 ? '/' : `/${screen.toLowerCase()}`, path }))}</ul></nav></details>
<p class="who quiet">You are ${who}. <a href="/keys" data-keys>Keys</a></p></header>
<main id="main" tabindex="-1"><h1>${said(heading)}</h1>${content}</main>
<footer><p>Every change is written to the audit log. The console ends by itself when it is not used.</p></footer>
<dialog id="keys" aria-label="Keys"${hasKeys ? '' : html` data-off`}>${keysList(hasKeys)}<form method="dialog"><button>Close</button></form></dialog>`,
    proof,
  );

/** A page without the head, for users who have not signed in. */
export const bare = (title: string, body: Html, proof = ''): Html => html`<!doctype html>
<html lang="en" data-proof="${proof}"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/console.css"><link rel="icon" href="/icon.svg"><script type="module" src="/console.js"></script></head>
<body>${body}</body></html>`;

const tab = (screen: string, { to, path }: { to: string; path: string }): Html => {
  const isHere = path === to || (to !== '/' && path.startsWith(`${to}/`));
  return html`<li><a href="${to}" data-key="${keyOf.get(screen)}"${isHere ? html` aria-current="page"` : ''}>${screen}</a></li>`;
};

const keys: [key: string, what: string][] = [
  ['/', 'Search'],
  ['?', 'These keys'],
  ...screens.map((screen): [string, string] => [`g ${keyOf.get(screen)}`, screen]),
];

/** Also a screen of its own, for a browser without scripts. */
export const keysList = (areOn: boolean): Html =>
  html`<dl class="keys">${keys.map(([key, what]) => html`<dt>${key.split(' ').map((each) => html`<kbd>${each}</kbd> `)}</dt><dd>${what}</dd>`)}</dl>
<form method="post" action="/keys"><p>${areOn ? 'These keys are on.' : 'These keys are off, on this machine.'}</p><button name="turn" value="${areOn ? 'off' : 'on'}">Turn them ${areOn ? 'off' : 'on'}</button></form>`;
