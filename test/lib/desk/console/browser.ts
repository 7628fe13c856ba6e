import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { waitLimitMs } from '../../../limits.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { typed } from '../cli/typed.ts';
import { browserPath } from './browser-path.ts';

/**
 * What a browser does beside its pages: two pages for its own address bar cost a second of CPU for each context. The last such list
 * counts, so that it names what playwright's own names of what a test can notice.
 */
const disabledFeatures = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'PreconnectToSearch',
  'LensOverlay',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'ThirdPartyStoragePartitioning',
  'PaintHolding',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'MediaRouter',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
];

/** Chromium's socket lies in a folder of its temporary folder, and an address of a socket is short. */
const maxSocketPath = 107;
const isRoomFor = (folder: string): boolean =>
  join(folder, '.org.chromium.Chromium.XXXXXX', 'SingletonSocket').length <= maxSocketPath;

/** What a killed browser leaves is in the test's own folder. */
const environment = (): NodeJS.ProcessEnv => {
  const folder = temporaryFolder();
  return isRoomFor(folder) ? { ...process.env, TMPDIR: folder } : process.env;
};

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: browserPath() ?? '',
    headless: true,
    env: environment(),
    args: [
      `--disable-features=${disabledFeatures.join()}`,
      // Its sandbox does not start for root, as in a container.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ],
  });

export type ServedConsole = {
  /** With the token. */
  url: string;
  /** Without it, and without a slash at the end. */
  origin: string;
  /** Ends it, as Ctrl-C does. */
  stop(): Promise<void>;
};

/** The command serves a console, as a person starts it; `file` describes its stack. */
export const serveConsole = async (file: string, options = ''): Promise<ServedConsole> => {
  const ending = new AbortController();
  const address = Promise.withResolvers<string>();
  const ended = typed(`console --stack ${file} --as jane --port 0 --no-open --json ${options}`, {
    signal: ending.signal,
    onOut: (piece) => address.resolve(JSON.parse(piece).url),
  });
  ended.then(
    ({ err }) => address.reject(new Error(err)),
    (error) => address.reject(error),
  );
  const url = await address.promise;
  return {
    url,
    origin: new URL(url).origin,
    stop: async () => {
      ending.abort();
      await ended;
    },
  };
};

/** What a page met that it must not: errors and refusals of the browser, requests that failed, scripts that ran. */
export const watched = (page: Page): string[] => {
  const problems: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()))
      problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => problems.push(`script: ${error.message}`));
  page.on('requestfailed', (request) => {
    // Whoever leaves a page breaks off what it still asked for.
    const failure = request.failure()?.errorText ?? '';
    if (failure !== 'net::ERR_ABORTED') problems.push(`request: ${request.url()} ${failure}`);
  });
  page.on('dialog', async (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  return problems;
};

/** Opens a screen, and waits until what it fetches later is there. */
export const openScreen = async (page: Page, url: string): Promise<void> => {
  await page.goto(url);
  await loaded(page);
};

export const loaded = async (page: Page): Promise<void> => {
  await page.locator('[data-load]').first().waitFor({ state: 'detached' });
};

/** Signs in by the printed address: the browser of this context is the one that the console lets in. */
export const signIn = async (context: BrowserContext, { url, origin }: ServedConsole): Promise<Page> => {
  // A busy machine is slow, and nothing is wrong with its pages.
  context.setDefaultTimeout(waitLimitMs);
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForURL(`${origin}/`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  return page;
};
