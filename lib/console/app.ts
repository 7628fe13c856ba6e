import { readFile } from 'node:fs/promises';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { RefusedError, UsageError } from '../deployment/command-errors.ts';
import { html, said } from '../markup/html.ts';
import { type Desk, formOf, render } from './desk.ts';
import { guard, type Session, safeNext, signIn } from './guard.ts';
import { addCauses } from './screens/causes.ts';
import { addDiscard } from './screens/discard.ts';
import { addEdit } from './screens/edit.ts';
import { addLetter } from './screens/letter.ts';
import { addLetters } from './screens/letters.ts';
import { addLog } from './screens/log.ts';
import { addOverview } from './screens/overview.ts';
import { addPublish } from './screens/publish.ts';
import { addReplay } from './screens/replay.ts';
import { addRuns } from './screens/runs.ts';
import { addTrace } from './screens/trace.ts';
import { addUncertain } from './screens/uncertain.ts';

type AppOptions = {
  /** As browsers name it, with the port. */
  host: string;
  session: Session;
  sentence(error: unknown): string;
  onUse(): void;
};

const formBytes = 256 * 1024;
/** Of a table or file of messages. */
const fileBytes = 20 * 1024 * 1024;

/** The console: what a request must be, then its screens. */
export const createApp = (given: Omit<Desk, 'app'>, { host, session, sentence, onUse }: AppOptions): Hono => {
  const app = new Hono();
  const desk = { ...given, app };
  app.use(guard({ host, session, readOnly: desk.readOnly, onUse }));
  const limit = (maxSize: number) =>
    bodyLimit({
      maxSize,
      onError: () => {
        throw new UsageError(`A form may have ${maxSize / 1024} KB at most.`);
      },
    });
  app.use((context, next) => limit(context.req.path === '/publish' ? fileBytes : formBytes)(context, next));

  const asset = (path: string, type: string, file: string): void =>
    void app.get(path, async (context) => {
      const content = await readFile(new URL(`../markup/${file}`, import.meta.url), 'utf8');
      return context.body(content, 200, { 'Content-Type': `${type}; charset=utf-8` });
    });
  asset('/console.css', 'text/css', 'look.css');
  asset('/console.js', 'text/javascript', 'console.js');
  asset('/icon.svg', 'image/svg+xml', 'icon.svg');

  app.post('/session', async (context) => {
    const form = await formOf(context);
    const next = safeNext(form.get('next') ?? '/');
    if (session.isSignedIn(context) || session.exchange(context, form.get('token') ?? ''))
      return context.redirect(next, 303);
    return context.html(
      signIn(next, 'This token is not right, or was used before. Start the console again for a new one.'),
      403,
    );
  });
  for (const add of [
    ...[addOverview, addCauses, addLetters, addLetter, addReplay, addDiscard],
    ...[addEdit, addUncertain, addPublish, addTrace, addLog, addRuns],
  ])
    add(desk);

  const problem = (title: string, text: string) => html`<p class="problem" role="alert">${said(text)}</p>
<p><a href="/">Overview</a></p>${title === 'Not found' ? '' : html`<p class="quiet">Nothing is lost: letters lie in their queue, and messages go on.</p>`}`;
  app.notFound(async (context) => {
    const answer = await render(desk, context, {
      title: 'Not found',
      content: problem('Not found', 'There is no such screen.'),
    });
    return new Response(answer.body, { status: 404, headers: answer.headers });
  });
  app.onError(async (error, context) => {
    const isOurs = error instanceof UsageError || error instanceof RefusedError;
    const title = isOurs ? 'That cannot be done' : 'It failed';
    const answer = await render(desk, context, { title, content: problem(title, sentence(error)) });
    return new Response(answer.body, { status: isOurs ? 400 : 502, headers: answer.headers });
  });
  return app;
};
