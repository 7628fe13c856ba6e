// @module-tag long
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { groupIdOf } from '../../../../lib/options/reconcile/desk/groups.ts';
import { waitLimitMs } from '../../../limits.ts';
import {
  enrollmentOf,
  findingOf,
  reportOf,
  tallyOf,
  writeRun,
} from '../../../options/reconcile/desk/runs.ts';
import { waitingImport } from '../../../options/snapshots/desk/waiting-import.ts';
import { localOffice } from '../cli/local-office.ts';
import { typed } from '../cli/typed.ts';
import { launch, openScreen, type ServedConsole, serveConsole, signIn, watched } from './browser.ts';
import { browserPath } from './browser-path.ts';
import { park, playDesk, playedFunctions } from './played.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds, with where; of the dark theme, only what colours can make wrong. */
const violations = async (page: Page, theme: 'light' | 'dark'): Promise<string[]> => {
  await page.emulateMedia({ colorScheme: theme });
  await page.evaluate(axe);
  const options =
    theme === 'light'
      ? { rules: { 'target-size': { enabled: true } } }
      : { runOnly: ['color-contrast', 'link-in-text-block'] };
  const found = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${theme}: ${id}: ${target.join(' ')}: ${failureSummary}`),
  );
};

/** Pixels by which the page is wider than its window. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

const tooSmall = (page: Page): Promise<string[]> =>
  page.evaluate<
    string[]
  >(`[...document.querySelectorAll('button, .button, input:not([type=hidden]), select, summary, nav a')]
    .filter((each) => each.checkVisibility() && !each.closest('.unseen'))
    .filter((each) => { const { width, height } = each.getBoundingClientRect();
      const label = each.matches('input') ? each.closest('label')?.getBoundingClientRect() : undefined;
      return Math.max(width, label?.width ?? 0) < 24 || Math.max(height, label?.height ?? 0) < 24; })
    .map((each) => each.outerHTML.slice(0, 120))`);

/** 1280 px at 200 % have 640 CSS pixels. */
const widths = [3840, 640, 360];

const looked = async (page: Page): Promise<string[]> => {
  const problems: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const wider = await overflow(page);
    if (wider > 0) problems.push(`at ${width} px it is ${wider} px wider than its window`);
  }
  problems.push(...(await tooSmall(page)).map((each) => `too small: ${each}`));
  problems.push(...(await violations(page, 'light')), ...(await violations(page, 'dark')));
  return problems;
};

describe.skipIf(browserPath() === undefined)('in a browser', () => {
  const office = localOffice({ functions: playedFunctions });
  let browser: Browser;
  let served: ServedConsole;
  let context: BrowserContext;
  let page: Page;
  let problems: string[];
  let played: Awaited<ReturnType<typeof playDesk>>;
  let snapshot: string;
  let group: string;
  let away: ReturnType<typeof goAway>;
  const go = (path: string) => openScreen(page, served.origin + path);

  beforeAll(async () => {
    [browser, played] = await Promise.all([launch(), playDesk(office)]);
    const { executions, description } = office.stack();
    const bucket = { s3: await office.target().s3(), bucket: description.bucket };
    snapshot = (await waitingImport(executions, bucket)).record.id;
    const faults = [findingOf(), findingOf()];
    group = groupIdOf(findingOf());
    await writeRun(bucket, reportOf({ tallies: { recent: tallyOf(90, { missing: 2, extra: 1 }) } }), [
      ...faults,
      enrollmentOf({ class: 'extra', writtenMs: undefined }),
    ]);
    served = await serveConsole(office.file);
    context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    page = await signIn(context, served);
    problems = watched(page);
    away = goAway();
    await away;
  });
  /** Another console, whose AWS ends while its overview is open: what it shows then takes a while, so that it begins first. */
  const goAway = async () => {
    const gates = await gatesTo(office.stack().description);
    const file = join(office.folder, 'gated.json');
    writeFileSync(file, gates.description);
    const own = await serveConsole(file);
    const gated = await browser.newContext();
    gated.setDefaultTimeout(waitLimitMs);
    const open = await signIn(gated, own);
    await gates.shut();
    const marks = open
      .locator('.lost')
      .filter({ hasText: 'does not answer (ECONNREFUSED)' })
      .waitFor({ timeout: waitLimitMs });
    // The test that awaits it comes later.
    marks.catch(() => {});
    return { own, open, gates, told: marks };
  };
  afterAll(async () => {
    await browser.close();
    await served.stop();
  });

  const begun = async (path: string, button: string, until: string): Promise<void> => {
    await go(path);
    await page.getByRole('button', { name: button }).first().click();
    await page.getByText(until).first().waitFor();
  };

  const screens: [name: string, open: () => Promise<void>][] = [
    ['overview', () => go('/')],
    ['causes', () => go('/causes')],
    ['letters', () => go('/letters')],
    ['letters of a filter', () => go('/letters?kind=rejected&unheld=yes')],
    ['letter', () => go(`/letters/${played.edited}`)],
    ['message', () => go(`/letters/${played.edited}/message`)],
    ['original', () => go(`/letters/${played.edited}/original`)],
    [
      'revealed',
      async () => {
        await go(`/letters/${played.edited}`);
        await page.getByLabel('Reason').fill('she asked what we hold');
        await page.getByRole('button', { name: 'Reveal' }).click();
        await page.getByRole('heading', { name: /, revealed$/, level: 1 }).waitFor();
      },
    ],
    ['replay', () => go('/replay?kind=missing-scope')],
    ['plan', () => begun('/replay?kind=missing-scope', 'Make the plan', 'messages a second')],
    [
      'nothing done',
      async () => {
        await page.getByRole('button', { name: 'Do nothing' }).click();
        await page.getByText('Nothing was changed.').waitFor();
      },
    ],
    ['edit', () => go('/edit?kind=missing-scope')],
    [
      'difference',
      async () => {
        await go(`/edit?id=${played.edited}`);
        await page.getByLabel('grade.points', { exact: true }).fill('6');
        await page.getByLabel('Reason').fill('a typo');
        await page.getByRole('button', { name: 'Show the difference' }).click();
        await page.getByRole('heading', { name: 'Difference' }).waitFor();
      },
    ],
    ['discard', () => go('/discard?kind=outdated')],
    ['uncertain', () => go('/uncertain')],
    [
      'compared',
      async () => {
        await go('/uncertain?kind=outdated');
        await page.getByLabel('Reason').first().fill('a look at the platform');
        await page.getByRole('button', { name: 'Compare' }).click();
        await page.getByRole('heading', { name: 'Compared', level: 1 }).waitFor();
        await page.getByRole('region', { name: 'The messages and the platform' }).waitFor();
      },
    ],
    [
      'end of a pause',
      async () => {
        await begun('/', 'Resume', 'the registrar repairs its export. Is that over?');
        await page.getByRole('button', { name: 'Do nothing' }).click();
        await page.getByText('Nothing was changed.').waitFor();
      },
    ],
    ['looked up', () => begun('/uncertain', 'Look on the platform', 'What is there')],
    ['publish', () => go('/publish')],
    [
      'grid of errors',
      async () => {
        await go('/publish');
        await page
          .getByLabel('Drop a file')
          .setInputFiles({ name: 'grades.csv', mimeType: 'text/csv', buffer: Buffer.from(grades) });
        await page.getByLabel('Function').selectOption('grade-push');
        await page.getByRole('button', { name: 'Check' }).click();
        await page.getByRole('button', { name: 'Send 1 message' }).waitFor();
      },
    ],
    [
      'outcomes',
      async () => {
        await page.getByLabel('Leave out 1 row').check();
        await page.getByRole('button', { name: 'Send 1 message' }).click();
        await page.getByRole('heading', { name: 'Outcomes' }).waitFor();
      },
    ],
    ['snapshots', () => go('/snapshots')],
    ['snapshot', () => go(`/snapshots/${snapshot}`)],
    [
      'approval',
      async () => {
        await go(`/snapshots/${snapshot}`);
        await page.getByLabel('Reason').fill('the summer courses end');
        await page.getByRole('button', { name: 'Approve' }).click();
        await page.getByText(`Approve ${snapshot}, and send 63 messages`).waitFor();
      },
    ],
    [
      'approved',
      async () => {
        await page.getByRole('button', { name: `Approve ${snapshot}` }).click();
        await page.getByText(`Snapshot ${snapshot} is approved.`).waitFor();
      },
    ],
    ['crosswalk', () => go('/crosswalk')],
    ['export', () => go('/export?kind=outdated')],
    ['comparison', () => go('/reconcile')],
    ['findings', () => go(`/reconcile/${group}`)],
    [
      'acceptance',
      async () => {
        await go('/reconcile');
        await page.getByLabel('Reason').first().fill('changed by hand');
        await page.getByRole('button', { name: 'Accept' }).first().click();
        await page.getByRole('heading', { name: 'Plan' }).waitFor();
      },
    ],
    [
      'accepted',
      async () => {
        await page.getByRole('button', { name: 'Accept' }).click();
        await page.getByText('2 differences accepted.').waitFor();
      },
    ],
    ['trace', () => go(`/trace?id=${played.edited}`)],
    ['trace of a user', () => go('/trace?user=14000')],
    ['waiting', () => go('/waiting')],
    ['log', () => go('/log')],
    ['runs', () => go('/runs')],
    ['an error', () => go('/letters?since=yesterday')],
    ['no such screen', () => go('/nothing')],
    [
      'from elsewhere',
      async () => {
        await page.goto(`data:text/html,<a href="${served.origin}/letters">From a colleague</a>`);
        await page.getByRole('link').click();
        await page.getByRole('heading', { name: 'You come from another site' }).waitFor();
      },
    ],
    [
      'sign-in',
      async () => {
        const cookies = await context.cookies();
        await context.clearCookies();
        await page.goto(served.origin);
        await page.getByRole('heading', { name: 'Sign in' }).waitFor();
        await context.addCookies(cookies);
      },
    ],
  ];

  test.each(screens)('%s: no violation, no sideways scrolling, no small target', async (_, open) => {
    problems.length = 0;
    await open();
    expect(await looked(page)).toEqual([]);
    // Of pages that are an error themselves.
    expect(problems.filter((each) => !/status of 40[0134]/.test(each))).toEqual([]);
  });

  test('all of it is printed: no controls, nothing cut off, dark on white', async () => {
    await go(`/letters/${played.edited}`);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(
      await page.getByRole('button').or(page.getByRole('navigation')).filter({ visible: true }).count(),
    ).toBe(0);
    const styles = await page.evaluate<
      string[]
    >(`[document.body, document.querySelector('section')].map((each) => getComputedStyle(each))
      .flatMap(({ color, backgroundColor }) => [color, backgroundColor])`);
    expect(styles).toEqual(['rgb(27, 31, 36)', 'rgba(0, 0, 0, 0)', 'rgb(27, 31, 36)', 'rgb(255, 255, 255)']);
    const cut = `[...document.querySelectorAll('pre, .scroll')].filter((each) => each.scrollHeight > each.clientHeight + 1).length`;
    expect(await page.evaluate<number>(cut)).toBe(0);
    await page.emulateMedia({ media: null, colorScheme: null });
  });

  /** The main screens in both themes, as a large and a small window show them; of the others, one picture each. */
  const shown: [file: string, screen: string, options?: { width?: number; theme?: 'dark' }][] = [
    ...['overview', 'letters', 'letter', 'uncertain', 'edit'].flatMap((file): typeof shown => [
      [file, file],
      [`${file}-dark`, file, { theme: 'dark' }],
      [`${file}-small`, file, { width: 390 }],
      [`${file}-small-dark`, file, { width: 390, theme: 'dark' }],
    ]),
    ...['causes', 'plan', 'trace', 'log'].map((file): (typeof shown)[number] => [file, file]),
    ['difference', 'difference'],
    ['publish', 'grid of errors'],
  ];
  /** `npm run screenshots` writes them for the documents; else it is looked whether they could be. */
  test('the screens that the documents show are small files', async () => {
    const folder = process.env.SCREENSHOTS;
    if (folder !== undefined) mkdirSync(folder, { recursive: true });
    for (const [file, name, { width = 1280, theme = 'light' } = {}] of folder === undefined
      ? shown.slice(0, 1)
      : shown) {
      await screens.find(([each]) => each === name)?.[1]();
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: theme });
      const image = await page.screenshot({ animations: 'disabled', caret: 'hide' });
      expect(image.length, file).toBeLessThan(224 * 1024);
      if (folder !== undefined) writeFileSync(join(folder, `${file}.png`), image);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  // Not beside the others: whoever reads another letter has these in hand, too, and their screens would say so.
  test('what comes from outside is text, whatever it is: nothing runs, and nothing is wider than its screen', async () => {
    problems.length = 0;
    const long = 'x'.repeat(200);
    const script =
      '<script>window.ran = true; alert(1)</script><img src=x onerror="window.ran = true; alert(2)">';
    const words = [
      script,
      long,
      'الدرجة غير مقبولة for course 2001 في المساق',
      'Not allowed 🎓👩‍🏫🏳️‍🌈',
      'a\u202Eb\u0007c\u001B[31md\u2066e',
    ];
    const ids = await park(
      office,
      words.map((detail, at) => ({
        data: { userId: 16_000 + at, comments: detail, [long]: detail },
        failure: {
          status: 400,
          title: detail.slice(0, 60),
          detail,
          message: detail,
          remedy: detail,
          operation: `PUT /${detail}`,
        },
      })),
    );
    const paths = [
      '/',
      '/causes',
      '/letters?status=400',
      ...ids.flatMap((id) => [`/letters/${id}`, `/trace?id=${id}`]),
    ];
    const wrong: unknown[] = [];
    for (const path of [...paths, `/trace?id=${encodeURIComponent(script)}`]) {
      await go(path);
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const wider = await overflow(page);
        if (wider > 0) wrong.push({ path, width, wider });
      }
      if (await page.evaluate('window.ran')) wrong.push({ path, ran: true });
    }
    expect(wrong).toEqual([]);
    expect(problems).toEqual([]);
  });

  describe.concurrent('beside each other', () => {
    test('without JavaScript, whoever types the token looks at all screens and replays a letter', async () => {
      const own = await serveConsole(office.file);
      const still = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
      await still.goto(own.origin);
      await still.getByLabel('Token').fill(new URL(own.url).hash.replace('#token=', ''));
      await still.getByRole('button', { name: 'Sign in' }).click();
      const heading = still.getByRole('heading', { level: 1 });
      for (const name of [
        'Overview',
        'Causes',
        'Letters',
        'Uncertain',
        'Publish',
        'Trace',
        'Log',
        'Runs',
        'Crosswalk',
      ]) {
        await still.getByRole('link', { name, exact: true }).first().click();
        expect(await heading.textContent()).toBe(name);
      }
      // Whoever looks at another letter meanwhile has this one in hand, too.
      await vi.waitFor(
        async () => {
          await still.goto(`${own.origin}/letters/${played.edited}`);
          await still.getByRole('link', { name: 'Read it from the queue' }).click();
          expect(await still.locator('main').textContent()).toContain('"specversion"');
        },
        { timeout: waitLimitMs },
      );
      await still.goto(`${own.origin}/letters?user=10005`);
      await still.getByRole('checkbox').first().check();
      // Nothing is preset: without the script, ticks do not choose.
      expect(await still.getByLabel('that match').isChecked()).toBe(false);
      await still.getByLabel('those ticked').check();
      await still.getByRole('button', { name: 'Replay' }).click();
      await still.getByRole('button', { name: 'Make the plan' }).click();
      // The page fetches itself anew until there is something to answer.
      await still.getByRole('button', { name: 'Send 1 letter' }).click();
      await still.getByText('This run ended').waitFor();
      const { gradeValues = [] } = await office.controls().state();
      expect(gradeValues.filter(({ userId }) => userId === 10_005)).toHaveLength(1);
      await still.context().close();
      await own.stop();
    });

    test('AWS away: each screen says so in plain words, and works again when it is back', async () => {
      const { own, open, gates, told: marks } = await away;
      // The overview that was open says so by itself.
      await marks;
      const other = await open.context().newPage();
      const { edited } = played;
      const paths = [
        '/',
        '/causes',
        '/letters',
        `/letters/${edited}`,
        `/letters/${edited}/message`,
        '/replay',
      ].concat(['/edit', '/discard', '/uncertain', `/trace?id=${edited}`, '/waiting', '/log']);
      // What takes long to read may be shown once more as it was.
      for (const path of paths)
        await vi.waitFor(
          async () => {
            await other.goto(own.origin + path);
            const [said] = await other.locator('.problem, .warn').allTextContents();
            expect(said, path).toMatch(/(does not|no) answer \(ECONNREFUSED\)/);
          },
          { timeout: waitLimitMs, interval: 500 },
        );
      await gates.reopen();
      for (const path of paths) {
        await other.goto(own.origin + path);
        expect(await other.locator('[role=alert]').count(), path).toBe(0);
      }
      await open.locator('.lost').waitFor({ state: 'detached' });
      await own.stop();
      await open.getByText('This console has ended').waitFor();
      await open.context().close();
      await gates.shut();
    });
  });

  test('with no letters, and with one, all screens are whole', async () => {
    await typed(`letters discard --all --yes --reason "the end of term" --stack ${office.file}`);
    const whole = async (count: RegExp): Promise<void> => {
      const own = await serveConsole(office.file);
      const fresh = await browser.newContext();
      const first = await signIn(fresh, own);
      const met = watched(first);
      for (const path of ['/', '/causes', '/letters', '/replay', '/edit', '/discard', '/uncertain']) {
        await openScreen(first, own.origin + path);
        expect(await first.locator('main').textContent(), path).toMatch(count);
      }
      expect(met).toEqual([]);
      await fresh.close();
      await own.stop();
    };
    await whole(/no dead letters|0 letters|No letter matches|nothing to decide/);
    await park(office, [{ failure: { kind: 'outdated' } }]);
    await whole(/1 (dead )?letter\b/);
  });
});

/** Stands between a console and each server of a stack; shut, nothing listens there. */
const gatesTo = async (description: object) => {
  let text = JSON.stringify(description);
  const gates = await Promise.all(
    [...new Set(text.match(/(?<=127\.0\.0\.1:)\d+/g))].map(async (to) => {
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        const onwards = connect(Number(to), '127.0.0.1');
        for (const [one, peer] of [
          [socket, onwards],
          [onwards, socket],
        ] as const) {
          sockets.add(one);
          one.on('error', () => {});
          one.on('close', () => peer.destroy());
          one.pipe(peer);
        }
      });
      const listen = (port: number) =>
        new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      await listen(0);
      const { port } = server.address() as AddressInfo;
      return {
        to,
        port,
        reopen: () => listen(port),
        shut: () =>
          new Promise<void>((resolve) => {
            server.close(() => resolve());
            for (const socket of sockets) socket.destroy();
          }),
      };
    }),
  );
  for (const { to, port } of gates) text = text.replaceAll(`127.0.0.1:${to}`, `127.0.0.1:${port}`);
  return {
    description: text,
    shut: () => Promise.all(gates.map((gate) => gate.shut())),
    reopen: () => Promise.all(gates.map((gate) => gate.reopen())),
  };
};

const grades =
  'orgUnitId,gradeObjectId,userId,grade.type,grade.points,comments\n2001,5001,10003,numeric,8.5,Well done\n2001,5001,10004,numeric,many,\n';
