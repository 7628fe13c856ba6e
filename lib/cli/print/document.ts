import type { View } from '../../views/view.ts';
import type { Cli } from '../command-context.ts';
import { linesOf } from './view.ts';

/**
 * Prints what it says; where JSON was asked for, nothing but one document is printed, at the end. Of several prints it has the
 * members of all: `print({ plan }, …)` and later `print({ result }, …)` make `{ plan, result }`.
 */
export type Print = (document: unknown, says: () => View | string[]) => void;

const isText = (says: View | string[]): says is string[] => says.every((each) => typeof each === 'string');

export const printOf = (
  { terminal, collect }: Pick<Cli, 'terminal' | 'collect'>,
  { json = false }: { json?: boolean },
): Print => {
  let isFirst = true;
  return (document, says) => {
    if (json) return collect(document);
    const said = says();
    const lines = isText(said) ? said : linesOf(said, terminal);
    if (!isText(said) && !isFirst && lines.length > 0) terminal.out('\n');
    terminal.out(textOfLines(lines));
    isFirst = false;
  };
};

export const textOfLines = (lines: string[]): string => lines.map((line) => `${line}\n`).join('');
