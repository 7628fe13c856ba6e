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

const codes = { quote: 34, open: [91, 123], close: [93, 125] };

/** How deep a text nests, and whether something in it that was opened is not closed. */
export const nestingOf = (text: string): { deepest: number; isOpen: boolean } => {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) {
      at = endOfString(text, at) - 1;
    } else if (code === codes.open[0] || code === codes.open[1]) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === codes.close[0] || code === codes.close[1]) depth -= 1;
  }
  return { deepest, isOpen: depth > 0 };
};

/** Where the string that begins at `start` is over, its quotation mark included; that of the text, where it does not end. */
export const endOfString = (text: string, start: number): number => {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text[at - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
  return text.length;
};
