import { afterAll, expect, test } from 'vitest';
import { firstIsQuick } from '../../first-is-quick.ts';
import { seed } from '../../seed.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../temporary-folder.ts';
import { bucketFolder } from './bucket-folder.ts';
import found from './oracle/found.json' with { type: 'json' };
import { type History, historyFrom, live, type MakeImporter } from './oracle/history.ts';
import { importerIn } from './oracle/importer.ts';
import { shrunk } from './oracle/shrink.ts';
import { textOf, watched } from './oracle/told.ts';

/** `judge-things` is the long proof; without it, the same in small. */
const [many, nights] = [process.env.JUDGED_UNIVERSITIES, process.env.JUDGED_NIGHTS].map(Number) as [
  number,
  number,
];
const size = { universities: many || 100, nights: nights || 6 };
/** What `npm test` lives through: most of the time goes to the imports of a night, however many share them. */
const quickNights = 2;
/** How many share their files: an import costs little more for a thousand than for one. */
const together = 1_000;
/** Histories that are tried for a smaller one in which the same is wrong. */
const attempts = 100;
const maxLines = 200;

afterAll(removeTemporaryFolders);

/** With a bucket of its own. */
const liveOnce = (history: History, watch = (make: MakeImporter): MakeImporter => make) => {
  const bucket = bucketFolder(temporaryFolder());
  return live(
    history,
    watch(() => importerIn(bucket)),
    bucket.write,
  );
};

/** What is wrong, in a history as small as it can be, with all that is put and sent in it. */
const explained = async (history: History, [found]: Awaited<ReturnType<typeof live>>): Promise<string> => {
  if (found === undefined) return '';
  const small = await shrunk(history, { found, live: liveOnce, attempts });
  const lines: string[] = [];
  await liveOnce(small.history, (make) => watched(make, (line) => lines.push(line)));
  const shownLines = lines.slice(0, maxLines);
  return [textOf(small.history, small.found), ...shownLines].join('\n');
};

const expectRight = async (nights: number): Promise<void> => {
  for (let from = 0; from < size.universities; from += together) {
    const to = Math.min(size.universities, from + together);
    const history = historyFrom(seed + from, { from, to, nights });
    const wrong = await liveOnce(history);
    removeTemporaryFolders();
    if (wrong.length > 0) expect.fail(await explained(history, wrong));
  }
};

test('many universities hold of each thing what was said last, in a few nights, or are told what differs', () =>
  expectRight(quickNights));

test(
  `${size.universities} universities hold of each thing what was said last, in ${size.nights} nights, or are told what differs`,
  {
    tags: ['long'],
    timeout: 7_200_000,
  },
  () => expectRight(size.nights),
);

firstIsQuick(found.map((history, place): [number, History] => [place + 1, history as History]))(
  'history %i, in which something was wrong once, is right',
  async (_, history) => {
    expect(await liveOnce(history)).toEqual([]);
  },
);
