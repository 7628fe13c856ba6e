import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { raw } from 'hono/html';
import type { View } from '../../views/view.ts';
import { html } from './html.ts';
import { shown } from './view.ts';

type Sheet = {
  title: string;
  /** The name of the deployment. */
  name: string;
  /** How it was made, and what it lacks. */
  foot: string;
};

/** A view as one self-contained file, without scripts, pictures and network access. */
export const sheetOf = async (view: View, { title, name, foot }: Sheet): Promise<string> => {
  const style = `\n${await readFile(new URL('look.css', import.meta.url), 'utf8')}`;
  const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'`;
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${title} · ${name}</title><meta name="viewport" content="width=device-width, initial-scale=1">
<style>${raw(style)}</style></head><body>
<header class="head"><p class="stage">${name}</p></header>
<main><h1>${title}</h1>${shown(view, { as: 'page' })}<p class="quiet">${foot}</p></main>
</body></html>
`;
  return String(await page);
};
