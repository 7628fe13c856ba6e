import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitLimitMs } from '../../../limits.ts';
import { kinds, mondayOffice } from '../../operate/messages/letters/monday-office.ts';
import { launch, serveConsole, signIn } from './browser.ts';
import { browserPath } from './browser-path.ts';

/** Letters of each kind; the proof `monday` asks for 300. */
const each = Number(process.env.LETTERS_PER_KIND ?? 2);

const { office, ...monday } = mondayOffice(each);

/** Somebody at the desk who clicks what the screens offer, and knows nothing else. */
const operatorAt = (page: Page) => {
  let clicks = 0;
  const click = async (role: 'button' | 'link', name: string | RegExp): Promise<void> => {
    clicks += 1;
    await page.getByRole(role, { name }).first().click();
  };
  const ended = () => page.getByText(/^This run (ended|failed)/).waitFor({ timeout: waitLimitMs });
  return {
    click,
    clicks: () => clicks,
    /** Plans and sends the largest cause that is offered, but for invalid ones. False: there is none. */
    replayNext: async (): Promise<boolean> => {
      await click('link', 'Causes');
      const offered = page
        .locator('article.cause:not(:has(.badge:text("invalid")))')
        .getByRole('button', { name: 'Plan a replay' });
      if ((await offered.count()) === 0) return false;
      clicks += 1;
      await offered.first().click();
      await page.getByLabel('Messages a second').selectOption('500');
      await click('button', /^Send \d/);
      await ended();
      return true;
    },
    ended,
  };
};

describe.skipIf(browserPath() === undefined)('in the browser', () => {
  let page: Page;
  let close: () => Promise<void> = async () => {};
  beforeAll(async () => {
    const browser = await launch();
    const served = await serveConsole(office.file);
    close = async () => {
      await browser.close();
      await served.stop();
    };
    page = await signIn(await browser.newContext(), served);
  });
  afterAll(() => close());

  test(`an operator’s Monday: ${each * kinds.length} letters of ten kinds are put right by clicks`, async () => {
    const say = (text: string) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
    await monday.befall();
    say('they are letters');
    // What no console can do: the key is set right, scopes and permissions are granted, the bug is mended.
    await monday.restoreKey();
    await monday.removeCauses();

    const startedMs = performance.now();
    const operator = operatorAt(page);
    await page.reload();
    await operator.click('link', /^By cause/);
    while (await operator.replayNext()) expect(await page.locator('main').textContent()).toContain('Done.');

    // The invalid ones have no grade: each gets one.
    await operator.click('link', 'Edit');
    await page.getByRole('combobox', { name: /^grade.type/ }).selectOption('numeric');
    await page.getByRole('textbox', { name: 'grade.points' }).fill('7');
    await page.getByLabel('Reason').fill('no points were given');
    await operator.click('button', 'Show the difference');
    await page.getByLabel('Messages a second').selectOption('500');
    await operator.click('button', /^Send \d/);
    await operator.ended();
    expect(await page.locator('main').textContent()).toContain('Done.');

    // Of the uncertain ones one half is there.
    await operator.click('link', 'Uncertain');
    await operator.click('button', 'Look for them on the platform');
    await operator.ended();
    await operator.click('button', /^Discard .* found$/);
    await operator.click('button', /^Discard \d+ letters?$/);
    await operator.ended();
    await operator.click('link', 'Runs');
    await operator.click('link', 'Look for what is uncertain');
    await operator.click('button', /^Send .* not found$/);
    await page.getByLabel('Messages a second').selectOption('500');
    await operator.click('button', /^Send \d/);
    await operator.ended();
    expect(await page.locator('main').textContent()).toContain('Done.');

    await operator.click('link', 'Letters');
    await page.getByText('No letter matches.').waitFor();
    const seconds = (performance.now() - startedMs) / 1000;
    process.stdout.write(
      `${each * kinds.length} letters by ${operator.clicks()} clicks: ${seconds.toFixed(0)} s\n`,
    );

    await monday.expectDone();
    const { gradeValues = [] } = await office.controls().state();
    for (const userId of monday.usersOf('invalid'))
      expect(gradeValues.filter((row) => row.userId === userId)).toMatchObject([
        { pointsNumerator: 7, writes: 1 },
      ]);
  }, 1_200_000);
});
