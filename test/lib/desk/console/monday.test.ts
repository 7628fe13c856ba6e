// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { waitLimitMs } from '../../../limits.ts';
import { allCauses, mondayOffice } from '../messages/letters/monday-office.ts';
import { launch, serveConsole, signIn } from './browser.ts';
import { browserPath } from './browser-path.ts';

/** Letters of each cause; the proof `monday` asks for 300. */
const each = Number(process.env.LETTERS_PER_KIND ?? 8);
const maxClicks = 16;

const { office, ...monday } = mondayOffice(each, allCauses);

describe.skipIf(browserPath() === undefined)('in the browser', () => {
  const open: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const close of open) await close();
  });

  test('a stranger works off a Monday by the buttons that each screen offers first', {
    timeout: 1_200_000,
  }, async () => {
    await monday.befall();
    await monday.detain();
    await monday.passes();
    const served = await serveConsole(office.file);
    open.unshift(served.stop);
    const browser = await launch();
    open.unshift(() => browser.close());
    const page = await signIn(await browser.newContext(), served);

    const clicks: string[] = [];
    const main = page.locator('main');
    const first = page.locator('section.first');
    const textOf = async (element: Locator): Promise<string> => (await element.textContent()) ?? '';
    const click = async (control: Locator): Promise<void> => {
      clicks.push(await textOf(control));

      expect(clicks.length, clicks.join('\n')).toBeLessThanOrEqual(maxClicks);
      await control.click();
    };
    /** To type or choose takes the hand from the mouse: it counts, too. */
    const give = async (field: Locator, act: () => Promise<unknown>): Promise<void> => {
      clicks.push(`(${(await field.getAttribute('name')) ?? ''})`);
      await act();
    };
    const read = async (): Promise<void> => monday.heed(await textOf(main));
    const runIsOver = async (): Promise<void> => {
      const question = page.locator('.question');
      const ended = page.getByText(/^This run (ended|failed)/);
      await question.or(ended).first().waitFor({ timeout: waitLimitMs });
      while (await question.isVisible()) {
        await read();
        const id = await question.locator('[name=question]').getAttribute('value');
        await click(question.locator('.main'));
        const others = page.locator(`.question:not(:has([value="${id}"]))`);
        await others.or(ended).first().waitFor({ timeout: waitLimitMs });
      }
      // A first step that does not work is a wrong one.
      const pageText = await textOf(main);
      expect(pageText).toMatch(/This run ended/);
      expect(pageText).not.toMatch(/Came back|were not|was not sent|nothing to|could not|Stopped/);
      await read();
    };
    const startedMs = performance.now();
    while (!(await textOf(first)).includes('Nothing. All is well.')) {
      await read();
      const before = await monday.waiting();
      const step = first.locator('button, a.button').first();
      const isWaking = /^(?:Wake|What to do)/.test(await textOf(step));
      await click(step);
      await main.waitFor();
      if (page.url().includes('/waiting')) await click(main.getByRole('button', { name: /^Wake/ }).first());
      if (page.url().includes('/uncertain')) await click(main.locator('button').first());
      if (page.url().includes('/edit')) {
        // What only a person knows: the SIS says which grade was meant.
        const type = page.getByRole('combobox', { name: /^grade.type/ });
        await give(type, () => type.selectOption('numeric'));
        const points = page.getByRole('textbox', { name: 'grade.points' });
        await give(points, () => points.fill('7'));
        const reason = page.getByLabel('Reason');
        await give(reason, () => reason.fill('the SIS lost the points'));
        await click(page.getByRole('button', { name: /^Show the difference/ }));
      }
      await runIsOver();
      while (isWaking && (await monday.waiting()) >= before) await sleep(50);
      // The result says what is next. What was just woken is still at work: then a person looks again.
      await first.waitFor();
      if ((await first.locator('button, a.button').count()) === 0)
        await click(page.getByRole('link', { name: 'Overview' }));
      await first.waitFor();
    }
    const seconds = (performance.now() - startedMs) / 1000;
    process.stdout.write(
      `${[`${each * 13} letters by ${clicks.length} clicks in ${seconds.toFixed(0)} s:`, ...clicks].join('\n  ')}\n`,
    );
    await monday.expectDone(7);
    await monday.expectReleased();
  });
});
