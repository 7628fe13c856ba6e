import { expect, test } from 'vitest';
import { fileName, withoutFileNames } from '../../../../lib/runtime/privacy/file-name.ts';

test('a file’s name is marked, and has no character that SQS refuses', () => {
  expect(fileName('Jane› 1\u0007\u0085\uFFFE\u{1FFFF}.pdf')).toBe('‹Jane> 1\uFFFD\uFFFD\uFFFD\uFFFD.pdf›');
});

test('names of files are left out, also where they were cut', () => {
  expect(withoutFileNames('of ‹Jane.pdf›, ‹› and ‹Ja')).toBe('of a file, a file and a file');
  expect(withoutFileNames('no file, 7 > 6')).toBe('no file, 7 > 6');
});
