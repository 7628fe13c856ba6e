import { expect, test } from 'vitest';
import { decoded } from '../../../../lib/runtime/privacy/escapes.ts';

test.each([
  ['M&uuml;ller &#252; &#xFC; &amp;', 'Müller ü ü &'],
  ['M%C3%BCller and M%c3%bcller', 'Müller and Müller'],
  ['M%FCller is no UTF-8, and 100% is no escape', 'M%FCller is no UTF-8, and 100% is no escape'],
  [String.raw`M\u00fcller, \\u00FC, a\nb, a\/b and \"c\"`, 'Müller, ü, a b, a/b and "c"'],
  ['<b>M</b>ü<br/>ller, 1 < 2 > 1', 'Mü<br/>ller, 1 < 2 > 1'],
  ['plain', 'plain'],
])('%s is %s', (text, plain) => {
  expect(decoded(text)).toBe(plain);
});
