import { run } from '../../../lib/cli/cli.ts';
import type { Terminal } from '../../../lib/cli/print/terminal.ts';

type Person = {
  /** To what is asked, in order; after the last there is nobody who could be asked. */
  answers?: string[];
  edit?: (text: string) => string;
  signal?: AbortSignal;
  onOut?: (piece: string) => void;
};

/** The command as a person types it, in this process: what it prints, what it asks, and how it ends. */
export const typed = async (
  line: string,
  { answers = [], edit = (text) => text, signal = new AbortController().signal, onOut }: Person = {},
) => {
  const said = { out: '', err: '', asked: [] as string[] };
  const terminal: Terminal = {
    out: (piece) => {
      said.out += piece;
      onOut?.(piece);
    },
    err: (piece) => {
      said.err += piece;
    },
    isLive: false,
    style: (_, text) => text,
    width: 100,
    ask: async (question) => {
      said.asked.push(question);
      return answers.shift();
    },
    edit: async (text) => edit(text),
    signal,
  };
  const words = [...line.matchAll(/((?:[^\s"]|"[^"]*")+)/g)].map(([word]) => word.replaceAll('"', ''));
  return { status: await run(words, terminal), ...said };
};

export const documentsIn = <Document = Record<string, unknown>>(out: string): Document[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
