import { Readable } from 'node:stream';
import { programOf, run } from '../../../../lib/desk/cli/cli.ts';
import type { Terminal } from '../../../../lib/desk/cli/print/terminal.ts';
import { loadOptionDesks } from '../../../../lib/options.ts';

type Person = {
  /** What standard input holds. */
  stdin?: string;
  onErr?: (piece: string) => void;
  /** To what is asked, in order; after the last there is nobody who could be asked. */
  answers?: string[];
  /** What was printed before a question. */
  onAsk?: (printed: string) => Promise<void>;
  edit?: (text: string) => string | Promise<string>;
  signal?: AbortSignal;
  onOut?: (piece: string) => void;
};

/** A terminal at which nobody sits; what is printed goes nowhere. */
export const quietTerminal: Terminal = {
  out: () => {},
  err: () => {},
  line: () => {},
  write: async () => {},
  stdin: Readable.from([]),
  isLive: false,
  width: 100,
  signal: new AbortController().signal,
  style: (_, text) => text,
  ask: async () => undefined,
  onEnter: () => undefined,
  edit: async (text) => text,
  command: (words) => `sis-relay ${words}`,
};

/** The whole command, with the commands of options. */
export const quietProgram = async () =>
  programOf({
    terminal: quietTerminal,
    desks: await loadOptionDesks(),
    finish: () => {},
    collect: () => {},
    sayLast: () => {},
  });

/** The command as a person types it, in this process: what it prints, what it asks, and how it ends. */
export const typed = async (
  line: string,
  {
    answers = [],
    edit = (text) => text,
    signal = new AbortController().signal,
    stdin = '',
    onOut,
    onErr,
    onAsk,
  }: Person = {},
) => {
  const said = { out: '', err: '', asked: [] as string[] };
  const terminal: Terminal = {
    ...quietTerminal,
    out: (piece) => {
      said.out += piece;
      onOut?.(piece);
    },
    err: (piece) => {
      said.err += piece;
      onErr?.(piece);
    },
    ask: async (question) => {
      said.asked.push(question);
      await onAsk?.(said.out);
      return answers.shift();
    },
    edit: async (text) => edit(text),
    signal,
    write: async (piece) => terminal.out(piece),
    stdin: Readable.from([stdin]),
  };
  const words = [...line.matchAll(/((?:[^\s"]|"[^"]*")+)/g)].map(([word]) => word.replaceAll('"', ''));
  return { status: await run(words, terminal), ...said };
};

/** The one document of --json. */
export const documentIn = <Document = Record<string, unknown>>(out: string): Document => JSON.parse(out);

export const documentsIn = <Document = Record<string, unknown>>(out: string): Document[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
