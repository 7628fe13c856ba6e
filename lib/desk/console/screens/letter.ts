import { historyIn } from '../../../delivery/letters/history.ts';
import type { DeskRecord } from '../../../delivery/letters/record.ts';
import { compareWithOriginal } from '../../messages/edit/original.ts';
import { NoLetterError } from '../../messages/letters/list.ts';
import { showLetter } from '../../messages/letters/show.ts';
import { letterOrTrace, traceOf } from '../../messages/trace/trace.ts';
import { ageOf } from '../../views/amounts.ts';
import { firstAction, kindTone, letterView, otherLinks, subjectOf } from '../../views/letters.ts';
import { noLetterView, timelineView, unknownLetterView } from '../../views/trace.ts';
import { badge, href, section, text, type View } from '../../views/view.ts';
import {
  addScreen,
  type Context,
  type Desk,
  formOf,
  htmlOf,
  lackingFor,
  partOf,
  reasonIn,
  render,
} from '../desk.ts';
import { html } from '../html/html.ts';

const asked = (context: Context) => ({ id: context.req.param('id') ?? '', signal: context.req.raw.signal });

export const addLetter = (desk: Desk): void => {
  const { app, target, audit, integrations } = desk;
  addScreen(desk, ['/letters/:id', 'Letter'], async (_, context) => {
    const { signal, ...given } = asked(context);
    const options = { functions: [...integrations.keys()], signal };
    const found = await letterOrTrace(target, given.id, options).catch((error: unknown) => {
      if (!(error instanceof NoLetterError)) throw error;
      context.status(404);
    });
    if (found === undefined) return unknownLetterView(given.id);
    if ('trace' in found) return noLetterView(found.trace);
    const { id, record } = found.letter;
    const trace = await traceOf(target, id, { ...options, log: false });
    return [
      ...recordView(id, record),
      section('What happened', ...timelineView(trace)),
      ...laterView(desk, id, record),
    ];
  });

  addScreen(desk, ['/letters/:id/message', 'Message'], async (_, context) => {
    const { message } = await showLetter(target, { ...asked(context), reveal: false, audit });
    return partOf(desk, [{ document: message, label: 'Message' }]);
  });
  addScreen(desk, ['/letters/:id/original', 'Original'], async (_, context) => {
    const compared = await compareWithOriginal(target, asked(context));
    if ('missing' in compared) return partOf(desk, [text(compared.missing)]);
    const { before, after } = compared;
    const fields = compared.difference.map(({ field }) => field).join(', ');
    const side = (label: string, document: unknown) =>
      html`<div><h2>${label}</h2>${htmlOf(desk, [{ document, label }])}</div>`;
    const differ = text(fields === '' ? 'They do not differ.' : `They differ in ${fields}.`);
    return html`<div id="part" class="beside">${side('Before', before)}${side('After', after)}<div class="wide">${htmlOf(desk, [differ])}</div></div>`;
  });

  app.post('/letters/:id/reveal', async (context) => {
    const reason = reasonIn(await formOf(context));
    const details = await showLetter(target, { ...asked(context), reveal: true, reason, audit });
    const back = { text: 'Back to the letter', to: `/letters/${encodeURIComponent(details.id)}` };
    const content: View = [...letterView(details), { links: [back] }];
    return render(desk, context, { title: 'Letter, revealed', content });
  });
};

const recordView = (id: string, record: DeskRecord): View => {
  const { function: name, kind, error, words, remedy = '', operation, status, required } = record;
  const call = [operation, status === undefined ? '' : ` → ${status}`, required && `, requires ${required}`];
  return [
    text(
      ...[{ text: id, code: true } as const, ` ${name || '–'} `, badge(kind, kindTone(kind))],
      ` ${subjectOf(record)}, a letter for ${ageOf(record.atMs)}`,
    ),
    text(error),
    !!words && { quote: words },
    !!operation && text({ text: call.join(''), code: true }),
    remedy !== '' && { tone: 'todo', text: remedy },
    ...firstAction(record, { id }),
    {
      links: [...otherLinks({ kind }, { id }), { text: 'Trace', to: href('/trace', { id }) }],
    },
  ];
};

const laterView = (desk: Desk, id: string, { history }: DeskRecord): View => {
  const lacking = lackingFor(desk, 'letters show');
  if (lacking !== undefined)
    return [
      section('Message', { tone: 'quiet', text: `To see it, also masked, needs the role ${lacking}.` }),
    ];
  const path = `/letters/${encodeURIComponent(id)}`;
  const wasEdited = historyIn(history)?.deeds.some(({ original }) => original) ?? false;
  return [
    section('Message', {
      ...{ later: 'Read it from the queue, and show it without personal data', to: `${path}/message` },
    }),
    wasEdited &&
      section('Before and after the edit', {
        ...{ later: 'Compare it with the original', to: `${path}/original` },
      }),
    section(
      'Reveal',
      {
        ...{ action: `${path}/reveal`, fields: [{ reason: 'required' }] },
        buttons: [{ text: 'Reveal personal data' }],
      },
      { tone: 'quiet', text: 'The audit log records who did so, and why.' },
    ),
  ];
};
