// @module-tag long
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { eventBody, officesForTests } from '../cli/office.ts';
import { launch, loaded, type ServedConsole, serveConsole, signIn } from './browser.ts';
import { browserPath } from './browser-path.ts';
import { causesOfStorm, stormOf } from './storm.ts';

const offices = officesForTests();

describe.skipIf(browserPath() === undefined)('in a storm of fifteen causes', () => {
  let browser: Browser;
  let served: ServedConsole;
  let page: Page;
  let tall: (path: string) => Promise<number>;
  beforeAll(async () => {
    process.env.XDG_CONFIG_HOME = temporaryFolder();
    const office = await offices.open();
    await office.park(
      stormOf(20).map(({ data, ...letter }) => ({ ...letter, body: eventBody(letter.function, data) })),
    );
    const file = join(temporaryFolder(), 'stack.json');
    writeFileSync(file, JSON.stringify(office.description()));
    [browser, served] = await Promise.all([launch(), serveConsole(file)]);
    page = await signIn(await browser.newContext({ viewport: { width: 1280, height: 800 } }), served);
    tall = async (path) => {
      await page.goto(served.origin + path);
      await loaded(page);
      return page.evaluate<number>('document.documentElement.scrollHeight');
    };
  });
  afterAll(async () => {
    await browser.close();
    await served.stop();
  });

  test('a person sees all that is to be done on one screen: numbered, with its severity in a word, and one button each', async () => {
    await tall('/');
    const cards = await page.locator('.step:not(.note, .shortcut)').evaluateAll((all) =>
      all.map((card) => ({
        bottom: card.getBoundingClientRect().bottom,
        height: card.getBoundingClientRect().height,
        cut: [...card.querySelectorAll('.title, .what')].filter(
          (each) => each.scrollWidth > each.clientWidth && each.getAttribute('title') !== each.textContent,
        ).length,
        severity: card.querySelector('.badge')?.textContent ?? '',
        filled: card.querySelectorAll('.act.main :is(button, a)').length,
      })),
    );
    // Those that need a decision are one card for each kind.
    expect(cards.length).toBeGreaterThanOrEqual(causesOfStorm);
    expect(Math.max(...cards.map(({ bottom }) => bottom))).toBeLessThanOrEqual(800);
    // So that 24 causes fit.
    expect(Math.max(...cards.map(({ height }) => height))).toBeLessThanOrEqual(28);
    for (const { severity, filled, cut } of cards) {
      expect(cut, 'what is cut can be read').toBe(0);
      expect(severity).toMatch(/^(Act now|Today|Watch)$/);
      expect(filled).toBeLessThanOrEqual(1);
    }
  });

  test('what needs a decision is at most three screens, large and small', async () => {
    expect(await tall('/uncertain')).toBeLessThanOrEqual(3 * 800);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await tall('/uncertain')).toBeLessThanOrEqual(3 * 844);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('keys lead everywhere: to the search, to a screen, and to their own list', async () => {
    /** A key is heard once the script of a page is there. */
    const heardOn = (shown: Locator) => shown.waitFor().then(() => page.waitForLoadState());
    await tall('/');
    await page.keyboard.press('/');
    await page.keyboard.type('Grade object not found');
    await page.keyboard.press('Enter');
    await heardOn(page.getByRole('heading', { name: 'Search', level: 1 }));
    expect(await page.getByRole('heading', { name: 'Causes' }).count()).toBe(1);
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await heardOn(page.getByRole('heading', { name: 'Letters', level: 1 }));
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keys' });
    expect(await list.textContent()).toContain('Search');
    await list.getByRole('button', { name: 'Turn them off' }).click();
    await heardOn(page.getByRole('heading', { name: 'Keys', level: 1 }));
    for (const key of ['g', 'l', '?']) await page.keyboard.press(key);
    expect(await list.isVisible()).toBe(false);
    expect(await page.locator('main').textContent()).toContain('These keys are off, on this machine.');
    await page.getByRole('button', { name: 'Turn them on' }).click();
    await heardOn(page.locator('main').getByText('These keys are on.'));
    await page.keyboard.press('?');
    await list.waitFor();
  });
});
