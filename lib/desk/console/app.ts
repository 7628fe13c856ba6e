import { readFile } from 'node:fs/promises';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { RefusedError, UsageError } from '../../stage/command-errors.ts';
import { howToGetRole, needsRole } from '../../stage/roles.ts';
import {
  addLive,
  type ConsoleServices,
  type Context,
  formOf,
  lackingAt,
  render,
} from './console-services.ts';
import { guard, safeNext, signIn } from './guard.ts';
import { html, said } from './html/html.ts';
import { bare } from './page.ts';
import { addDiscard } from './screens/discard.ts';
import { addEdit } from './screens/edit.ts';
import { addFind } from './screens/find.ts';
import { addLetter } from './screens/letter.ts';
import { addLetters } from './screens/letters.ts';
import { addLog } from './screens/log.ts';
import { addOverview } from './screens/overview.ts';
import { addPublish } from './screens/publish.ts';
import { addReplay } from './screens/replay.ts';
import { addRuns } from './screens/runs.ts';
import { addTrace } from './screens/trace.ts';
import { addTransfer } from './screens/transfer.ts';
import { addUncertain } from './screens/uncertain.ts';

type AppOptions = {
  /** Adds the options' screens. */
  optionScreens: readonly ((services: ConsoleServices) => void)[];
  /** The host as browsers name it, with the port. */
  host: string;
  sentence(error: unknown): string;
  onUse(): void;
};

const formBytes = 256 * 1024;
/** Maximum size of a table or file of messages. */
const fileBytes = 20 * 1024 * 1024;

const titles = { 400: 'This cannot be done', 404: 'Not found', 413: 'Too large', 502: 'It failed' } as const;

const screens = [
  addOverview,
  addFind,
  addLetters,
  addLetter,
  addReplay,
  addDiscard,
  addEdit,
  addUncertain,
  addPublish,
];
/** After those of the options. */
const lastScreens = [addTrace, addLog, addTransfer, addRuns];

/** The console: the checks of each request, then its screens. */
export const createApp = (
  given: Omit<ConsoleServices, 'app'>,
  { host, optionScreens, sentence, onUse }: AppOptions,
): Hono => {
  const app = new Hono();
  const services = { ...given, app };
  app.use(guard({ ...given, host, onUse }));
  addChecks(services);
  addAssets(app);
  app.post('/session', (context) => signInWithToken(services, context));
  for (const add of [...screens, ...optionScreens, ...lastScreens]) add(services);
  addLive(services, '/live', async () => ({ version: 0, part: () => html`` }));
  app.notFound((context) =>
    problemPage(services, context, { status: 404, text: 'There is no such screen.' }),
  );
  app.onError((error, context) => {
    const isOurs = error instanceof UsageError || error instanceof RefusedError;
    return problemPage(services, context, { status: isOurs ? 400 : 502, text: sentence(error) });
  });
  return app;
};

const addChecks = (services: ConsoleServices): void => {
  const { app } = services;
  const limit = (maxSize: number) =>
    bodyLimit({
      maxSize,
      onError: (context) => {
        const text = `A form can have at most ${maxSize / 1024} KB.`;
        return problemPage(services, context, { status: 413, text });
      },
    });
  app.use((context, next) =>
    limit(/^\/(publish|import)$/.test(context.req.path) ? fileBytes : formBytes)(context, next),
  );
  app.use(async (context, next) => {
    const form = context.req.method === 'POST' ? context.req.formData() : undefined;
    await form?.catch(() => {
      throw new UsageError('This form cannot be read.');
    });
    return next();
  });
  // IAM would refuse it, too, after the form was filled in and read.
  app.use(async (context, next) => {
    await services.rolesKnown;
    const lacking = context.req.method === 'POST' ? lackingAt(services, context.req.path) : undefined;
    if (lacking !== undefined)
      throw new RefusedError(`${needsRole(lacking, services.target.prefix)} ${howToGetRole}`);
    return next();
  });
};

const addAssets = (app: Hono): void => {
  for (const [path, type, file] of [
    ['/console.css', 'text/css', 'look.css'],
    ['/console.js', 'text/javascript', 'console.js'],
    ['/icon.svg', 'image/svg+xml', 'icon.svg'],
  ] as const)
    app.get(path, async (context) => {
      const content = await readFile(new URL(`./html/${file}`, import.meta.url), 'utf8');
      return context.body(content, 200, { 'Content-Type': `${type}; charset=utf-8` });
    });
};

const signInWithToken = async ({ session }: ConsoleServices, context: Context) => {
  const form = await formOf(context);
  const next = safeNext(form.get('next') ?? '/');
  if (session.exchange(context, form.get('token') ?? '')) return context.redirect(next, 303);
  // Security: another site may link here, with any token after the address of any screen.
  if (session.isSignedIn(context)) return context.redirect('/', 303);
  return context.html(
    signIn(
      next,
      'This token is wrong, or was used before. Press Enter in the terminal of the console to get another address.',
    ),
    403,
  );
};

const problemPage = (
  services: ConsoleServices,
  context: Context,
  { status, text }: { status: keyof typeof titles; text: string },
) => {
  context.status(status);
  if (!services.session.isSignedIn(context))
    return context.html(bare(titles[status], html`${titles[status]}`));
  const content = html`<p class="problem" role="alert">${said(text)}</p>
<p><a href="/">Overview</a></p>${status === 502 ? html`<p class="quiet">Nothing is lost: letters stay in their queue, and messages are still handled.</p>` : status === 404 ? '' : html`<p>Go back, correct the form, and try again.</p>`}`;
  return render(services, context, { title: titles[status], content });
};
