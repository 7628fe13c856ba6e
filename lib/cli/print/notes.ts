import type { Note, Tone } from '../../views/view.ts';
import { wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

const colours = { good: 'green', bad: 'red', warn: 'yellow', todo: 'green', quiet: 'dim' } as const;

/** A text in the colour of its tone. */
export const toned = (tone: Tone | undefined, text: string, { style }: Pick<Terminal, 'style'>): string =>
  tone === undefined || tone === 'plain' ? text : style(colours[tone], text);

/** A note in lines; what a person is to do has an arrow. */
export const noteLines = (
  { tone, text }: Note,
  terminal: Pick<Terminal, 'style' | 'width'>,
  indent = '',
): string[] =>
  wrapped(tone === 'todo' ? `→ ${text}` : text, terminal.width - indent.length, '  ').map((line) =>
    toned(tone, indent + line, terminal),
  );

const marks: Partial<Record<Tone, string>> = { good: '✓', bad: '✗' };

/** What was looked at, and whether all is well; `?`: that is not known. */
export const marked = ({ tone, text }: Note, terminal: Pick<Terminal, 'style'>): string => {
  const mark = marks[tone];
  return `${mark === undefined ? '?' : toned(tone, mark, terminal)} ${text}`;
};
