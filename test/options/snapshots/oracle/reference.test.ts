import { expect, test } from 'vitest';
import { firstIsQuick } from '../../../first-is-quick.ts';
import { seed } from '../../../seed.ts';
import { type Found, historyFrom, live } from './history.ts';
import { type Mistake, mistakes, referenceWith } from './reference.ts';
import { shrunk } from './shrink.ts';
import { textOf } from './told.ts';

// That the oracle is right: it finds nothing in a small import without mistakes, and each mistake.

const universities = 50;

const found = async (
  mistake: Mistake | undefined,
  { histories, nights }: { histories: number; nights: number },
): Promise<{ found: Found; text: string } | undefined> => {
  const liveOnce = (history: Parameters<typeof live>[0]) =>
    live(history, referenceWith(mistake), () => undefined);
  for (let at = 0; at < histories; at += 1) {
    const history = historyFrom(seed + at, { from: 0, to: universities, nights });
    const [first] = await liveOnce(history);
    if (first === undefined) continue;
    if (mistake !== undefined) return { found: first, text: first.text };
    const small = await shrunk(history, { found: first, live: liveOnce, attempts: 300 });
    return { found: small.found, text: textOf(small.history, small.found) };
  }
  return undefined;
};

const histories = Number(process.env.JUDGED_HISTORIES ?? 4);

test('an import without mistakes has none', { timeout: 3_600_000 }, async () => {
  expect((await found(undefined, { histories, nights: 12 }))?.text).toBeUndefined();
});

firstIsQuick(Object.entries(mistakes) as [Mistake, string][])(
  'an import with the mistake “%s” (%s) is found',
  async (mistake) => {
    expect(await found(mistake, { histories: 100, nights: 8 })).toBeDefined();
  },
);
