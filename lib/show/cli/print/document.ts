import type { View } from '../../views/view.ts';
import type { Terminal } from './terminal.ts';
import { linesOf } from './view.ts';

/**
 * Prints a view, with an empty line after the one before. With --json, only one document is printed, at the end. It has the members of all
 * prints: `print({ plan }, …)` and later `print({ result }, …)` make `{ plan, result }`.
 */
export type Print = (document: unknown, says: () => View) => void;

export const printOf = (
  { terminal, collect }: { terminal: Terminal; collect(document: unknown): void },
  { json = false }: { json?: boolean },
): Print => {
  let isFirst = true;
  return (document, says) => {
    if (json) return collect(document);
    const lines = linesOf(says(), terminal);
    if (!isFirst && lines.length > 0) terminal.out('\n');
    terminal.out(textOfLines(lines));
    isFirst = false;
  };
};

export const textOfLines = (lines: string[]): string => lines.map((line) => `${line}\n`).join('');
