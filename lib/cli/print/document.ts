import type { Cli } from '../command-context.ts';

/**
 * Prints the lines; where JSON was asked for, nothing but one document is printed, at the end. Of several prints it has the
 * members of all: `print({ plan }, …)` and later `print({ result }, …)` make `{ plan, result }`.
 */
export type Print = (document: unknown, lines: () => string[]) => void;

export const printOf =
  ({ terminal, collect }: Pick<Cli, 'terminal' | 'collect'>, { json = false }: { json?: boolean }): Print =>
  (document, lines) =>
    json ? collect(document) : terminal.out(textOfLines(lines()));

export const textOfLines = (lines: string[]): string => lines.map((line) => `${line}\n`).join('');
