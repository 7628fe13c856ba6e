import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import { styleText } from 'node:util';
import { plain } from '../../../runtime/privacy/printable.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import { roleOf } from '../../../stage/roles.ts';

const clearLine = '\r\u001B[K';

type Format = Parameters<typeof styleText>[0];

/** Where the command reads and writes; tests pass another. */
export type Terminal = {
  /** Writes the answer to standard output. */
  out(text: string): void;
  /** Writes data to standard output, as fast as its reader accepts them. */
  write(text: string): Promise<void>;
  /** Standard input, as data. */
  stdin: Readable;
  /** Writes everything except the answer to standard error. */
  err(text: string): void;
  /** Whether a line on standard error can be overwritten. */
  isLive: boolean;
  /** Shows a line on standard error that whatever comes next overwrites; an empty one leaves no trace. */
  line(text: string): void;
  style(format: Format, text: string): string;
  /** Width in columns; infinite if it is no terminal: nothing is cut or wrapped. */
  width: number;
  /** Undefined if there is no terminal to ask on. */
  ask(question: string): Promise<string | undefined>;
  /** Acts whenever Enter is pressed, until it is disposed of. Undefined if there is no terminal to press it on. */
  onEnter(act: () => void): Disposable | undefined;
  /** Opens a text in the operator's editor; returns the saved text. Undefined if there is no terminal to open it on. */
  edit: ((text: string) => Promise<string>) | undefined;
  /** Aborted by Ctrl-C, with the exit status as the reason; a second Ctrl-C ends the process at once. */
  signal: AbortSignal;
  /**
   * A command to type next: `letters groups` becomes `npx sis-relay letters groups --local`, started in the same way and for the same
   * deployment.
   */
  command(words: string): string;
};

/** First words of the commands that a sentence may name. */
const commands = new Set([
  ...Object.keys(roleOf).map((words) => words.replace(/ .*/, '')),
  'check-message',
  'scopes',
  'console',
  'doctor',
]);

/** Without the name of the program; undefined: it is no command. */
const commandIn = (quoted: string): string | undefined => {
  const [, named] = /^sis-relay ([^<].*)$/.exec(quoted) ?? [];
  return named ?? (commands.has(quoted.split(' ', 1)[0] ?? '') ? quoted : undefined);
};

/** A command that a sentence names in backquotes, as it is typed here. */
export const asTyped = (text: string, { command }: Pick<Terminal, 'command'>): string =>
  text.includes('`')
    ? text.replace(/`([^`]+)`/g, (whole, quoted: string) => {
        const words = commandIn(quoted);
        return words === undefined ? whole : `\`${command(words)}\``;
      })
    : text;

/** The exit statuses of shells: 128 plus the number of the signal. */
const exitStatuses = { SIGINT: 130, SIGTERM: 143 } as const;
type SignalName = keyof typeof exitStatuses;

/** Removes all control sequences from the output, except line breaks and its own colours. */
export const guarded = (terminal: Terminal): Terminal => {
  const colours = new Set<string>();
  return {
    ...terminal,
    out: (text) => terminal.out(guardedText(text, colours)),
    err: (text) => terminal.err(guardedText(text)),
    line: (text) => terminal.line(guardedText(text)),
    style: (format, text) => {
      const styled = terminal.style(format, text);
      for (const [each] of styled.matchAll(colour)) colours.add(each);
      return styled;
    },
    write: (text) => terminal.write(guardedText(text)),
    ask: (question) => terminal.ask(guardedText(question)),
  };
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one.
const colour = /\u001B\[\d+m/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one.
const pieces = /(\n|\u001B\[\d+m)/;

const guardedText = (text: string, colours: ReadonlySet<string> = new Set()): string =>
  text
    .split(pieces)
    .map((piece) => (piece === '\n' || colours.has(piece) ? piece : plain(piece)))
    .join('');

export const terminalOf = (process: NodeJS.Process): Terminal => {
  const { stdin, stdout, stderr, env } = process;
  const interrupts = new Interrupts(process);
  const lines = new StatusLine(stderr);
  const isInteractive = stdin.isTTY === true;
  return {
    out: (text) => {
      lines.end();
      stdout.write(text);
    },
    write: async (text) => {
      if (!stdout.write(text)) await once(stdout, 'drain', { signal: interrupts.signal });
    },
    stdin,
    err: (text) => {
      lines.end();
      stderr.write(text);
    },
    isLive: stderr.isTTY === true,
    line: (text) => lines.show(text),
    // Colours only on a terminal, and not with NO_COLOR.
    style: (format, text) => styleText(format, text, { stream: stdout }),
    width: stdout.isTTY ? Math.min(Math.max(stdout.columns ?? 100, 60), 140) : Number.POSITIVE_INFINITY,
    ask: async (question) => {
      if (!isInteractive) return undefined;
      lines.end();
      return ask(question, process, interrupts);
    },
    onEnter: (act) => {
      if (!isInteractive) return undefined;
      const input = linesOf(process, interrupts).on('line', act);
      return { [Symbol.dispose]: () => input.close() };
    },
    edit: isInteractive
      ? async (text) => {
          lines.end();
          const { namedEditor } = await import('../../../stage/target.ts');
          return edit(text, namedEditor() ?? usualEditor);
        }
      : undefined,
    signal: interrupts.signal,
    // A user of npx has the program in this project only: a shell does not find it by name.
    command: (words) => `${env.npm_command === 'exec' ? 'npx ' : ''}sis-relay ${words}`,
  };
};

/** What stops a command: Ctrl-C, the end of the process that waits for it, and an output that nobody reads any more. */
class Interrupts {
  readonly #process: NodeJS.Process;
  readonly #controller = new AbortController();
  #interruptedMs = 0;

  constructor(process: NodeJS.Process) {
    this.#process = process;
    const onSignal = (name: SignalName): void => this.interrupt(name);
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
    // A reader such as `head` closes the pipe. An exit at this point would hide leased letters from others until their lease ends, and stop a
    // replay in the middle.
    for (const stream of [process.stdout, process.stderr])
      stream.on('error', (error: NodeJS.ErrnoException) => this.#outputFailed(error));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  interrupt(name: SignalName): void {
    const process = this.#process;
    // npm forwards a Ctrl-C that the terminal has also sent to this process: the two count as one.
    if (this.signal.aborted && Date.now() - this.#interruptedMs > 500) process.exit(exitStatuses[name]);
    if (this.signal.aborted) return;
    this.#interruptedMs = Date.now();
    process.stderr.write(
      '\nStopping after the requests in progress. Press Ctrl-C again to stop immediately.\n',
    );
    this.#controller.abort(exitStatuses[name]);
  }

  #outputFailed({ code }: NodeJS.ErrnoException): void {
    if (this.signal.aborted) return;
    if (code !== 'EPIPE') {
      this.#process.stderr.write(`The output cannot be written (${code}), so the command stops.\n`);
      this.#process.exitCode = 1;
    }
    this.#controller.abort();
  }
}

/** A line that whatever comes next overwrites. */
class StatusLine {
  readonly #stream: NodeJS.WriteStream;
  #isShown = false;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  show(text: string): void {
    this.end();
    this.#stream.write(text);
    this.#isShown = text !== '';
  }

  end(): void {
    if (this.#isShown) this.#stream.write(clearLine);
    this.#isShown = false;
  }
}

const linesOf = ({ stdin, stderr }: NodeJS.Process, interrupts: Interrupts): Interface =>
  createInterface({ input: stdin, output: stderr }).on('SIGINT', () => interrupts.interrupt('SIGINT'));

const ask = async (question: string, process: NodeJS.Process, interrupts: Interrupts): Promise<string> => {
  const lines = linesOf(process, interrupts);
  // Ctrl-D ends the input; without this, the question would wait for ever.
  const closed = once(lines, 'close').then(() => '');
  try {
    return await Promise.race([lines.question(question, { signal: interrupts.signal }), closed]);
  } catch {
    return '';
  } finally {
    lines.close();
  }
};

const usualEditor = process.platform === 'win32' ? 'notepad' : 'vi';

const edit = async (text: string, command: string): Promise<string> => {
  // A message is personal data: only its owner may open the file, and it is deleted.
  const folder = await mkdtemp(join(tmpdir(), 'sis-relay-'));
  const file = join(folder, 'message.json');
  try {
    await writeFile(file, text, { mode: 0o600 });
    const editor = spawn(`${command} "${file}"`, { stdio: 'inherit', shell: true });
    const code = await new Promise<number | null>((resolve, reject) => {
      editor.once('error', reject).once('exit', resolve);
    });
    if (code !== 0)
      throw new RefusedError(`The editor (${command}) ended with status ${code}, so nothing was changed.`);
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
