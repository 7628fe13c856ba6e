import { expect, test } from 'vitest';
import { seed } from '../../../seed.ts';
import { historyFrom, live } from './oracle/history.ts';
import { mistakes, referenceWith, type Mistake } from './oracle/reference.ts';
import { shrunk } from './oracle/shrink.ts';
import { textOf, watched } from './oracle/told.ts';

test('mistakes', async () => {
  for (const mistake of Object.keys(mistakes) as Mistake[]) {
    let at = 0;
    let text = '';
    for (; at < 40; at += 1) {
      const history = historyFrom(seed + at, { from: 0, to: 50, nights: 8 });
      const [found] = await live(history, referenceWith(mistake), () => undefined);
      if (!found) continue;
      text = found.text;
      break;
    }
    console.log(mistake, at, text);
  }
});
test('reference', async () => {
  let shown = 0;
  for (let at = 0; at < 60 && shown < Number(process.env.SHOWN ?? 3); at += 1) {
    const history = historyFrom(seed + at, { from: 0, to: 50, nights: 12 });
    const [found] = await live(history, referenceWith(), () => undefined);
    if (!found) continue;
    shown += 1;
    const small = await shrunk(history, { found, live: (each) => live(each, referenceWith(), () => undefined), attempts: 400 });
    console.log(textOf(small.history, small.found));
    const lines: string[] = [];
    await live(small.history, watched(referenceWith(), (line) => lines.push(line)), () => undefined);
    console.log(lines.join('\n'));
  }
  expect(shown).toBe(0);
});
