/** Deeper than any answer of use. What writes JSON anew does so by recursion, and would die of a deeper one. */
const mostDepth = 100;

/** `cut off`: it begins as JSON and ends before its end. */
export type Json = { value: unknown } | { flaw: 'cut off' | 'too deep' | 'no JSON' };

/** Reads a text as JSON, in time and memory that grow with its length alone. */
export const parseJson = (text: string): Json => {
  // Of a shorter one no nesting can be too deep, as each level takes two characters.
  if (text.length > 2 * mostDepth && nestingOf(text).deepest > mostDepth) return { flaw: 'too deep' };
  try {
    // Some servers mark their UTF-8 by an invisible character, of which JSON knows nothing.
    return { value: JSON.parse(text.replace(/^\uFEFF/, '')) };
  } catch {
    // Without its error, which quotes the text.
    return { flaw: nestingOf(text).isOpen ? 'cut off' : 'no JSON' };
  }
};

const codes = { quote: 34, backslash: 92, open: [91, 123], close: [93, 125] };

/** How deep a text nests, and whether something in it that was opened is not closed. */
const nestingOf = (text: string): { deepest: number; isOpen: boolean } => {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) {
      at = endOfString(text, at + 1);
      if (at < 0) return { deepest, isOpen: depth > 0 };
    } else if (code === codes.open[0] || code === codes.open[1]) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === codes.close[0] || code === codes.close[1]) depth -= 1;
  }
  return { deepest, isOpen: depth > 0 };
};

/** Where the string ends whose text begins here; -1: nowhere. */
const endOfString = (text: string, from: number): number => {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (before >= from && text.charCodeAt(before) === codes.backslash) before -= 1;
    if ((at - before) % 2 === 1) return at;
  }
  return -1;
};
