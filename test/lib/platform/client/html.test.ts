import { expect, test } from 'vitest';
import { piecesOf } from '../../../../lib/platform/client/html.ts';
import { plainText } from '../../../../lib/platform/client/rich-text.ts';

const taken = (html: string) =>
  [...piecesOf(html)]
    .map((piece) => ('tag' in piece ? `<${piece.tag}>` : 'within' in piece ? `{${piece.text}}` : piece.text))
    .join('|');

test.each([
  ['a<b>c</B>d', 'a|<b>|c|</b>|d'],
  ['<P class="x">a<br/>', '<p>|a|<br>'],
  ['a < b and c > d', 'a < b and c > d'],
  ['<title>a<b</title>c', '<title>|{a<b}|</title>|c'],
  ['<script>if (a<b) "</p>"</script>x', '<script>|{if (a<b) "</p>"}|</script>|x'],
  ['<title>never closed<p>', '<title>|never closed|<p>'],
  ['<!doctype html><!-- x -->y', '<>|<>|y'],
  ['a<p', 'a<p'],
  ['', ''],
])('a page is taken apart into texts and tags: %s', (html, pieces) => {
  expect(taken(html)).toBe(pieces);
});

test.each([
  ['<p>a</p><p>b</p>', 'a\nb'],
  ['a<br>b<BR />c', 'a\nb\nc'],
  ['<ul><li>a</li><li>b &amp; c</li></ul>', 'a\nb & c'],
  ['1 < 2 <b>is</b> true', '1 < 2 is true'],
  ['a <b', 'a <b'],
  ['<p><', '<'],
])('a comment is told in the words between its tags: %s', async (html, text) => {
  expect(await plainText({ Text: '', Html: html })).toBe(text);
});
