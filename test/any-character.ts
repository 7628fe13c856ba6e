import fc from 'fast-check';

const [firstSurrogate, surrogates] = [0xd800, 0x800];

/** Any character, as of fast-check's own `unit: 'binary'`, which makes a table of all 1.1 million first: a second of CPU. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - surrogates })
  .map((point) => String.fromCodePoint(point < firstSurrogate ? point : point + surrogates));
