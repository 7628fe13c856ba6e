import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listLetters } from '../../../../lib/desk/messages/letters/list.ts';
import { waitLimitMs } from '../../../limits.ts';
import { localOffice } from '../cli/local-office.ts';
import { never } from '../cli/office.ts';
import { launch, loaded, type ServedConsole, serveConsole, watched } from './browser.ts';
import { browserPath } from './browser-path.ts';
import { type Parked, park } from './played.ts';

const enrollment = (userId: number): Parked => ({ function: 'enrollment-create', data: { userId } });
const letters: Parked[] = [
  ...[401, 402, 403, 405].map((userId): Parked => ({ data: { userId } })),
  { data: { userId: 404, gradeObjectId: 5999 } },
  { function: 'submission-upload', data: { userId: 301 }, failure: { kind: 'uncertain' } },
  ...[411, 412, 413].map(enrollment),
];

describe.skipIf(browserPath() === undefined)('by keyboard alone', () => {
  const office = localOffice({ inProcess: ['grade-push', 'submission-upload'] });
  let browser: Browser;
  let served: ServedConsole;
  let context: BrowserContext;
  let page: Page;
  let problems: string[];

  beforeAll(async () => {
    await office.enrol([401, 402, 403, 404]);
    await park(office, letters);
    [browser, served] = await Promise.all([launch(), serveConsole(office.file)]);
    context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    context.setDefaultTimeout(waitLimitMs);
    page = await context.newPage();
    problems = watched(page);
  });
  afterAll(async () => {
    await browser.close();
    await served.stop();
    expect(problems).toEqual([]);
  });

  const isFocused = (target: Locator): Promise<boolean> =>
    target.evaluate((element) => element === element.ownerDocument.activeElement).catch(() => false);
  /** Presses Tab until the target has the focus, which must then be seen; a person does not press it for ever. */
  const reach = async (target: Locator): Promise<void> => {
    await target.waitFor();
    for (let pressed = 0; !(await isFocused(target)); pressed += 1) {
      if (pressed > 150) throw new Error(`${target} is not reached by Tab`);
      await page.keyboard.press('Tab');
    }
    const outline = await target.evaluate(
      (element) => element.ownerDocument.defaultView?.getComputedStyle(element).outlineStyle,
    );
    expect(outline, `${target} shows that it has the focus`).not.toBe('none');
  };
  const press = async (target: Locator, key = 'Enter'): Promise<void> => {
    await reach(target);
    await page.keyboard.press(key);
  };
  /** The focus begins at what the screen is for. */
  const pressSoon = async (target: Locator): Promise<void> => {
    await target.waitFor();
    for (let pressed = 0; pressed < 2; pressed += 1) await page.keyboard.press('Tab');
    expect(await isFocused(target)).toBe(true);
    await page.keyboard.press('Enter');
  };
  const write = async (target: Locator, text: string): Promise<void> => {
    await reach(target);
    await page.keyboard.type(text);
  };
  const button = (name: string | RegExp, within: Page | Locator = page) =>
    within.getByRole('button', { name });
  /** From the head of the page, as on every screen. */
  const toScreen = async (name: string): Promise<void> => {
    await page.keyboard.press('Control+Home');
    const arrived = page.waitForEvent('load');
    await press(page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name }));
    await arrived;
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await loaded(page);
  };
  const ended = () => page.getByText(/This run (ended|failed|stopped)/).waitFor({ timeout: waitLimitMs });
  const lettersOf = async (userId: number) => {
    const { letters } = await listLetters(
      office.target(),
      { filter: { user: String(userId) }, limit: 100 },
      { signal: never },
    );
    return letters;
  };
  const pointsOf = async (userId: number) => {
    const { gradeValues = [] } = await office.controls().state();
    return gradeValues.filter((row) => row.userId === userId).map(({ pointsNumerator }) => pointsNumerator);
  };
  /** Of a letter that was parked just now: the lists are a little older. */
  const makePlan = async (at: Page, url: string): Promise<void> => {
    do await at.goto(url);
    while ((await button('Make the plan', at).count()) === 0);
    await button('Make the plan', at).click();
  };
  // Not a test's own, so that any of them can be run alone.
  beforeAll(async () => {
    await page.goto(`${served.origin}/letters`);
    await write(page.getByLabel('Token'), served.url);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Letters' }).waitFor();
    // Before, every page is refused.
    problems.length = 0;
  });
  test('whoever has the printed address signs in by pasting it', async () => {
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Letters');
  });

  /** By its address, as a colleague sends it. */
  const openLetter = async (userId: number): Promise<void> => {
    const [found] = await lettersOf(userId);
    await page.goto(`${served.origin}/letters/${found?.id}`);
    await loaded(page);
  };

  test('two of the letters that a filter finds are ticked, planned and replayed', async () => {
    await toScreen('Letters');
    await press(page.locator('.filters > summary'));
    await reach(page.getByLabel('Function'));
    // What is typed chooses within a list.
    await page.keyboard.type('grade-push');
    await press(button('Filter'));
    await page.getByText(`5 of ${letters.length} letters`).waitFor();
    expect(await page.getByRole('radio', { checked: true }).count(), 'nothing is preset').toBe(0);
    for (const userId of [401, 402])
      await press(
        page.getByRole('row', { name: new RegExp(`${userId} · 2001`) }).getByRole('checkbox'),
        'Space',
      );
    await press(button('Replay 2'));
    await page.getByText('2 letters match.').waitFor();
    await pressSoon(button('Make the plan for 2 letters'));
    await write(page.getByLabel('Reason'), 'the course is open');
    await press(button('Send 2 letters'));
    await ended();
    // An answer adds no page to the way back.
    await page.goBack();
    expect(new URL(page.url()).pathname).toBe('/replay');
    expect([await pointsOf(401), await pointsOf(402), await pointsOf(403)]).toEqual([[8.5], [8.5], []]);
    expect(await lettersOf(403)).toHaveLength(1);
  });

  test('a plan is looked at and declined', { tags: ['long'] }, async () => {
    await openLetter(403);
    await press(button('Plan a replay'));
    await press(button('Do nothing'));
    await page.getByText('Nothing was changed.').waitFor();
    expect(await lettersOf(403)).toHaveLength(1);
  });

  test('a letter is revealed with a reason', { tags: ['long'] }, async () => {
    await openLetter(403);
    expect(await page.content()).not.toContain('Well argued');
    await write(page.getByLabel('Reason'), 'the learner asked');
    await press(button('Reveal personal data'));
    await page.getByText('Well argued, Jane').waitFor();
  });

  test('a letter is edited, and sent after its difference was shown', { tags: ['long'] }, async () => {
    await openLetter(404);
    await press(page.getByRole('link', { name: 'Edit' }));
    await write(page.getByLabel('gradeObjectId', { exact: true }), '5001');
    await write(page.getByLabel('Reason'), 'another column');
    await press(button('Show the difference'));
    await page.getByText('data.gradeObjectId').waitFor();
    expect(await page.locator('main').textContent()).toMatch(/- 5999.*\+ 5001/s);
    await press(button('Send 1 letter like this'));
    await ended();
    expect(await pointsOf(404)).toEqual([8.5]);
    expect(await lettersOf(404)).toEqual([]);
  });

  test('a letter is discarded with a reason, and restored from the log', { tags: ['long'] }, async () => {
    await openLetter(405);
    await press(page.getByRole('link', { name: 'Discard' }));
    await page.getByText('1 letter matches.').waitFor();
    await write(page.getByLabel('Reason'), 'entered by hand');
    await press(button('Discard 1 letter'));
    await ended();
    expect(await lettersOf(405)).toEqual([]);
    await toScreen('Log');
    await press(page.getByRole('row', { name: '/discarded/' }).getByRole('button', { name: 'Restore' }));
    await press(button('Restore 1 letter'));
    await page.getByText('1 letter restored.').waitFor();
    await ended();
  });

  test('what is uncertain is looked up, then decided', { tags: ['long'] }, async () => {
    await toScreen('Uncertain');
    await press(button(/^Look on the platform for /));
    // For a minute the call may still act: a person who knows better decides.
    await page.getByText(/^1 (absent|unclear): /).waitFor({ timeout: waitLimitMs });
    await press(page.getByRole('row').locator('summary'));
    await write(page.getByRole('row').getByLabel('Reason'), 'she has not handed in');
    await press(button('Not done: send it'));
    await press(button('Send 1 letter'));
    await ended();
    const { submissions = [] } = await office.controls().state();
    expect(submissions.filter(({ userId }) => userId === 301)).toHaveLength(1);
  });

  test('a table with a wrong row is checked: the error stands in its cell, and the others are sent', {
    tags: ['long'],
  }, async () => {
    await toScreen('Publish');
    const chooser = page.waitForEvent('filechooser');
    await press(page.getByLabel('Drop a file'));
    await (await chooser).setFiles({ name: 'grades.csv', mimeType: 'text/csv', buffer: Buffer.from(grades) });
    await reach(page.getByLabel('Function'));
    await page.keyboard.type('grade-push');
    await press(button('Check'));
    const wrong = page.getByRole('row', { name: 'many' }).locator('.bad').first();
    await wrong.waitFor();
    const at = await wrong.evaluate((element) => element.closest('td')?.cellIndex);
    expect(
      await page
        .getByRole('columnheader')
        .nth(at ?? -1)
        .textContent(),
    ).toBe('grade.points');
    await page.getByRole('region', { name: 'Valid rows' }).waitFor();
    await press(button('Send 1 message'));
    expect(await isFocused(page.getByLabel('Leave out 1 row')), 'it must be agreed to').toBe(true);
    await page.keyboard.press('Space');
    await press(button('Send 1 message'));
    await page.getByText('1 done.').waitFor();
    await ended();
    expect(await pointsOf(403)).toEqual([7]);
  });

  test('a run is stopped', { tags: ['long'] }, async () => {
    await page.goto(`${served.origin}/replay?function=enrollment-create`);
    await press(button('Make the plan'));
    await press(button('Send 3 letters'));
    // Their function is not at work, so that the canary is waited for.
    await reach(button('Stop'));
    const other = await context.newPage();
    await other.goto(page.url());
    await button('Stop', other).press('Enter');
    await page.getByText('This run stopped').waitFor();
    await other.close();
    const focused = await page.evaluate('document.activeElement.outerHTML.slice(0, 60)');
    expect(focused, 'the button that had the focus is gone').toContain('data-live="/runs/');
  });

  test('the focus, what is typed and what is open stay while the overview renews itself', {
    tags: ['long'],
  }, async () => {
    await toScreen('Overview');
    expect(await isFocused(page.locator('.first')), 'what the screen is for').toBe(true);
    await press(page.locator('#details > summary'));
    const row = page.getByRole('row', { name: 'submission-upload' });
    await press(row.locator('summary'));
    await write(row.getByLabel('Reason'), 'a new key');
    await reach(row.getByRole('button'));
    const before = await row.getByRole('button').elementHandle();
    await park(office, [{ data: { userId: 403, gradeObjectId: 5002 } }]);
    await before?.waitForElementState('hidden', { timeout: waitLimitMs });
    expect(await isFocused(row.getByRole('button'))).toBe(true);
    expect(await row.getByLabel('Reason').inputValue()).toBe('a new key');
  });

  test('a button that is pressed while its page renews itself does what it says when it is let go', {
    tags: ['long'],
  }, async () => {
    await park(office, [enrollment(415)]);
    await makePlan(page, `${served.origin}/replay?user=415`);
    await button('Send 1 letter').click();
    // Its function is not at work, so that the canary is waited for.
    const stop = button('Stop');
    // A renewal may move it before it is pressed, as it would for a person, who presses once more.
    await expect
      .poll(async () => {
        await page.mouse.up();
        await stop.hover();
        await page.mouse.down();
        return stop.evaluate((element) => element.matches(':active'));
      })
      .toBe(true);
    const renewal = page.waitForResponse(/part=yes/);
    await page.evaluate(hiddenAndSeen);
    await (await renewal).finished();
    await page.evaluate('new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))');
    await page.mouse.up();
    await page.getByText('This run stopped').waitFor();
  });

  test('what is chosen stays while its tab is hidden, and a run tells what became of it when its console ends', {
    tags: ['long'],
  }, async () => {
    await park(office, [enrollment(414)]);
    const own = await serveConsole(office.file);
    const other = await (await browser.newContext()).newPage();
    // The printed address, in a tab that shows this console already: only what is behind its # differs.
    await other.goto(`${own.origin}/`);
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    await other.goto(own.url);
    await other.getByRole('heading', { name: 'Overview' }).waitFor();
    await makePlan(other, `${own.origin}/replay?user=414`);
    await other.getByLabel('Messages a second').selectOption('5');
    const was = await button('Send 1 letter', other).elementHandle();
    await other.evaluate('document.activeElement.blur()');
    await other.evaluate(hiddenAndSeen);
    await was?.waitForElementState('hidden');
    expect(await other.getByLabel('Messages a second').inputValue()).toBe('5');
    await button('Send 1 letter', other).click();
    // Its function is not at work, so that the canary is waited for.
    await button('Stop', other).waitFor();
    await own.stop();
    await other.getByText('This run ended').waitFor();
    await other.getByText('it was interrupted').waitFor();
    await other.getByText('This console has ended').waitFor();
    await other.context().close();
  });
});

/** A page that is seen again renews itself. */
const hiddenAndSeen = `
  for (const value of [true, false]) {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }`;

const grades = [
  'orgUnitId,gradeObjectId,userId,grade.type,grade.points,comments',
  '2001,5001,403,numeric,7,Well done',
  '2001,5001,404,numeric,many,',
].join('\n');
