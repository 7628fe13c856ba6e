import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSorter, readLines, sortLines, writeLines } from '../../../lib/sets/sorted.ts';
import { anyCharacter } from '../../any-character.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sorted-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const line = fc.string({ unit: anyCharacter, maxLength: 20 }).map((text) => text.replaceAll('\n', ''));

describe('sorted lines', () => {
  it('are the lines that were added, in their order, however many fit in memory', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 200 }),
        fc.integer({ min: 1, max: 2_000 }),
        async (lines, maxBytes) => {
          expect([...(await sortLines(lines, { folder, maxBytes }))]).toEqual(lines.toSorted());
        },
      ),
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('merge more runs than files may be open', async () => {
    const lines = Array.from({ length: 1_000 }, (_, at) => `${(at * 7919) % 1_000}`);
    const sorted = await sortLines(lines, { folder, maxBytes: 1 });
    expect([...sorted]).toEqual(lines.toSorted());
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leave no files where reading stops early, or adding fails', async () => {
    for (const one of await sortLines(['b', 'a', 'c'], { folder, maxBytes: 1 })) {
      expect(one).toBe('a');
      break;
    }
    const broken = async function* () {
      yield 'a';
      throw new Error('no more');
    };
    await expect(sortLines(broken(), { folder, maxBytes: 1 })).rejects.toThrow('no more');
    const sorter = createSorter({ folder, maxBytes: 1 });
    sorter.add('a');
    expect(() => sorter.add('a\nb')).toThrow('line feed');
    sorter.remove();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('are read as they were written, whatever the size of the buffer', () => {
    const path = join(folder, 'lines');
    fc.assert(
      fc.property(fc.array(line), fc.integer({ min: 1, max: 50 }), (lines, bufferBytes) => {
        writeLines(path, lines);
        // Half a character cannot be written.
        expect([...readLines(path, bufferBytes)]).toEqual(lines.map((each) => each.toWellFormed()));
      }),
    );
    rmSync(path);
  });
});
