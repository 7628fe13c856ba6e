import { historyIn } from '../../../delivery/letters/history.ts';
import type { IndexRecord } from '../../../delivery/letters/record.ts';
import { eventIn } from '../../../message/envelope.ts';
import { lacksRight } from '../../../message/failure-kinds.ts';
import { compareWithOriginal } from '../../messages/edit/original.ts';
import { type FieldProblem, fieldsNamed, problemsIn } from '../../messages/edit/problems.ts';
import { findLetter, NoLetterError } from '../../messages/letters/list.ts';
import { type LetterDetails, showLetter } from '../../messages/letters/show.ts';
import { letterOrTrace, traceOf } from '../../messages/trace/trace.ts';
import { compareOutdated } from '../../messages/verify/compare.ts';
import { ageOf } from '../../views/format.ts';
import { firstAction, kindTone, letterFacts, namedSubjectOf, otherLinks } from '../../views/letters.ts';
import { noLetterView, timelineView, unknownLetterView } from '../../views/trace.ts';
import { comparisonView } from '../../views/verify.ts';
import { badge, href, section, text, type View } from '../../views/view.ts';
import {
  addScreen,
  type ConsoleServices,
  type Context,
  formOf,
  htmlOf,
  lackingFor,
  partOf,
  reasonIn,
  render,
} from '../console-services.ts';
import { type Html, html } from '../html/html.ts';

const asked = (context: Context) => ({ id: context.req.param('id') ?? '', signal: context.req.raw.signal });

export const addLetter = (services: ConsoleServices): void => {
  const { app, target, audit, integrations } = services;
  /** `message`: below what happened. */
  const storyOf = async (
    { id, record }: { id: string; record: IndexRecord },
    { message, signal }: { message: View; signal: AbortSignal },
  ): Promise<Html> => {
    const trace = await traceOf(target, id, { functions: [...integrations.keys()], signal, log: false });
    return html`<div class="beside story">${htmlOf(services, [section('What failed', ...failureView(id, record))])}
${htmlOf(services, [section('What happened', ...timelineView(trace))])}</div>
<div id="message">${htmlOf(services, message)}</div>`;
  };

  addScreen(services, ['/letters/:id', 'Letter'], async (_, context) => {
    const { signal, ...given } = asked(context);
    const options = { functions: [...integrations.keys()], signal };
    const found = await letterOrTrace(target, given.id, options).catch((error: unknown) => {
      if (!(error instanceof NoLetterError)) throw error;
      context.status(404);
    });
    if (found === undefined) return unknownLetterView(given.id);
    if ('trace' in found) return noLetterView(found.trace);
    const { id, record } = found.letter;
    const content = await storyOf({ id, record }, { message: laterView(services, id, record), signal });
    return { heading: headingOf(record), content };
  });

  addScreen(services, ['/letters/:id/message', 'Message'], async (_, context) => {
    const details = await showLetter(target, { ...asked(context), reveal: false, audit });
    return partOf(services, messageView(details));
  });
  addScreen(services, ['/letters/:id/original', 'Original'], async (_, context) => {
    const compared = await compareWithOriginal(target, asked(context));
    if ('missing' in compared) return partOf(services, [text(compared.missing)]);
    const { before, after } = compared;
    const fields = compared.difference.map(({ field }) => field).join(', ');
    const side = (label: string, document: unknown) =>
      html`<div><h2>${label}</h2>${htmlOf(services, [{ document, label }])}</div>`;
    const differ = text(fields === '' ? 'They do not differ.' : `They differ in ${fields}.`);
    return html`<div id="part" class="beside">${side('Before', before)}${side('After', after)}<div class="wide">${htmlOf(services, [differ])}</div></div>`;
  });

  app.post('/letters/:id/reveal', async (context) => {
    const reason = reasonIn(await formOf(context));
    const { signal } = context.req.raw;
    const letter = await showLetter(target, { ...asked(context), reveal: true, reason, audit });
    const [details = letter] = await compareOutdated(target, [letter], signal);
    const { record } = await findLetter(target, details.id, signal);
    const back = { text: 'Hide personal data', to: `/letters/${encodeURIComponent(details.id)}` };
    const message: View = [
      section('Message, revealed', ...messageView(details), ...comparisonView(details), { links: [back] }),
      { fold: letterFacts(details), summary: 'All that the letter says' },
    ];
    const content = await storyOf({ id: details.id, record }, { message, signal });
    return render(services, context, {
      title: 'Letter, revealed',
      heading: `${headingOf(record)}, revealed`,
      content,
    });
  });
};

/** The message, with what failed marked in it. */
const messageView = (details: LetterDetails): View => {
  const { message } = details;
  const event = eventIn(JSON.stringify(message) ?? '') ?? message;
  return [{ document: message, label: 'Message', problems: problemsOf(details, event) }];
};

/** Where a right is missing, no field is wrong. */
const problemsOf = ({ kind, failure, error }: LetterDetails, event: unknown): FieldProblem[] => {
  const what = failure?.message ?? error;
  const problems = problemsIn([what]);
  if (problems.length > 0 || lacksRight(kind)) return problems;
  return fieldsNamed(event, { error: what, words: failure?.detail ?? failure?.title ?? '' });
};

/** What it was to do, for whom. */
const headingOf = (record: IndexRecord): string =>
  [record.function || 'A letter of no function', namedSubjectOf(record)].filter(Boolean).join(' for ');

const failureView = (id: string, record: IndexRecord): View => {
  const { kind, error, words, remedy = '', operation, status, required } = record;
  const call = [operation, status === undefined ? '' : ` → ${status}`, required && `, requires ${required}`];
  return [
    text(badge(kind, kindTone(kind)), ` A letter for ${ageOf(record.atMs)}`),
    text({ text: error, tone: 'bad' }),
    !!words && { quote: words },
    !!operation && text({ text: call.join(''), code: true }),
    remedy !== '' && { tone: 'todo', text: remedy },
    {
      actions: [
        ...firstAction(record, { id }),
        { links: [...otherLinks({ kind }, { id }), { text: 'Trace', to: href('/trace', { id }) }] },
      ],
    },
    { tone: 'quiet', text: `Letter ${id}` },
  ];
};

const laterView = (services: ConsoleServices, id: string, { history }: IndexRecord): View => {
  const lacking = lackingFor(services, 'letters show');
  if (lacking !== undefined)
    return [
      section('Message', {
        tone: 'quiet',
        text: `To see the message, even masked, you need the role ${lacking}.`,
      }),
    ];
  const path = `/letters/${encodeURIComponent(id)}`;
  const wasEdited = historyIn(history)?.deeds.some(({ original }) => original) ?? false;
  return [
    section(
      'Message',
      { later: 'Read it from the queue, and show it without personal data', to: `${path}/message` },
      {
        action: `${path}/reveal#message`,
        fields: [{ reason: 'required' }],
        buttons: [{ text: 'Reveal personal data' }],
      },
      { tone: 'quiet', text: 'The audit log records who reveals it, and why.' },
    ),
    wasEdited &&
      section('Before and after the edit', { later: 'Compare it with the original', to: `${path}/original` }),
  ];
};
