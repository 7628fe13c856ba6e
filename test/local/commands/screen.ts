import { styleText } from 'node:util';
import type { DeadLetter } from '../../../lib/delivery/letters/dead-letter.ts';
import type { Attempt } from '../scenarios/play.ts';

type Colour = Parameters<typeof styleText>[0];

/** How often the messages of one function ended in which way, and how often they waited before. */
type Counts = Record<string, number>;

const outcomes = ['done', 'duplicate', 'superseded', 'parked'];
const colours: Record<string, Colour> = { done: 'green', parked: 'red', waiting: 'yellow' };

/**
 * What `npm start` and `npm run local` show. On a terminal it keeps to its width and has colours; elsewhere each attempt is one plain line,
 * whatever its length.
 */
export function createScreen(
  longestTitle = 0,
  {
    stream = process.stdout,
    isLong = false,
  }: {
    stream?: NodeJS.WriteStream;
    /** It may be shown for hours: each attempt has its time, not the seconds since the beginning. */
    isLong?: boolean;
  } = {},
) {
  const width = stream.isTTY ? Math.max(60, stream.columns) : Number.POSITIVE_INFINITY;
  const counts = new Map<string, Counts>();
  const paint = (colour: Colour, text: string) => styleText(colour, text, { stream });
  const say = (line = '') => stream.write(`${line}\n`);

  /** Words in lines that fit, all but the first behind the indent. */
  const paragraph = (text: string, indent: number): string => {
    if (width === Number.POSITIVE_INFINITY) return text;
    const room = width - indent;
    const lines = [''];
    // A word longer than a line, such as a path, goes on in the next.
    for (const word of text
      .split(/\s+/)
      .flatMap((each) => each.match(new RegExp(`.{1,${room}}`, 'gu')) ?? [])) {
      const line = `${lines.at(-1)} ${word}`.trimStart();
      if (lines.at(-1) !== '' && line.length > room) lines.push(word);
      else lines[lines.length - 1] = line;
    }
    return lines.join(`\n${' '.repeat(indent)}`);
  };

  // Since the process began.
  const seconds = () => (performance.now() / 1000).toFixed(1);
  const moment = () => (isLong ? new Date().toTimeString().slice(0, 8) : `${seconds().padStart(5)} s`);
  const indent = isLong ? 24 : 23;

  const attempt = (made: Attempt, title: string) => {
    const { function: name, outcome, waitSeconds } = made;
    const count = counts.get(name) ?? {};
    counts.set(name, count);
    count[outcome] = (count[outcome] ?? 0) + 1;
    const shown = outcome === 'waiting' ? `waits ${waitSeconds} s` : outcome;
    const head = `${moment()}  ${paint(colours[outcome] ?? 'cyan', shown.padEnd(12))}  `;
    const room = width - indent - longestTitle - 2;
    // Too narrow for both, the title comes first and what was done for it below.
    if (room < 50) {
      say(`${head}${title}`);
      say(`${' '.repeat(indent)}${paint('dim', detailOf(made, width - indent))}`);
    } else say(`${head}${title.padEnd(longestTitle)}  ${paint('dim', detailOf(made, room))}`);
  };

  const letter = ({ failure }: DeadLetter, title: string) => {
    const row = (label: string, text: string) => say(`  ${label.padEnd(15)}${paragraph(text, 17)}`);
    say();
    say(paint('bold', title));
    if (failure === null)
      return row('what happened', 'the letter does not tell: SQS moved the message by itself');
    const { kind, message, remedy, status, type, title: problem, detail, required, attempts } = failure;
    const times = attempts === 1 ? 'its first attempt' : `${attempts} attempts`;
    say(`  ${paint('red', kind)} in ${failure.function}, after ${times}`);
    row('what happened', message);
    const parsed = [
      status && `status ${status}`,
      type && `type ${type}`,
      problem && `title “${problem}”`,
      detail && `detail “${detail}”`,
      required && `required ${required}`,
    ].filter(Boolean);
    if (parsed.length > 0) row('parsed error', parsed.join(', '));
    row('what to do', remedy);
  };

  const table = () => {
    const columns = [...outcomes, 'waits'];
    const rows = [...counts].sort(([one], [other]) => one.localeCompare(other));
    const all: Counts = {};
    for (const [, count] of rows)
      for (const [outcome, times] of Object.entries(count)) all[outcome] = (all[outcome] ?? 0) + times;
    const line = (name: string, cells: string[]) =>
      name.padEnd(22) + cells.map((cell) => cell.padStart(11)).join('');
    const cellsOf = (count: Counts) =>
      [...outcomes, 'waiting'].map((outcome) => String(count[outcome] ?? '·'));
    say(paint('bold', line('function', columns)));
    for (const [name, count] of rows) say(line(name, cellsOf(count)));
    say(paint('bold', line('all', cellsOf(all))));
  };

  return {
    say: (text = '') => say(paragraph(text, 0)),
    heading: (text: string) => say(paint('bold', text)),
    /** What went well, or did not. */
    verdict: (isGood: boolean, text: string) => say(paint(isGood ? 'green' : 'red', paragraph(text, 0))),
    /** What an attempt says in words, below it. */
    note: (text: string) => say(`${' '.repeat(indent)}${paint('dim', paragraph(text, indent))}`),
    /** Names with what each stands for, below it where there is no room beside. */
    rows: (rows: [name: string, text: string][]) => {
      const beside = 4 + Math.max(...rows.map(([name]) => name.length));
      const hasRoom = width - beside >= 20;
      for (const [name, text] of rows) {
        if (hasRoom) say(`  ${name.padEnd(beside - 2)}${paragraph(text, beside)}`);
        else say(`  ${name}\n    ${paragraph(text, 4)}`);
      }
    },
    seconds,
    attempt,
    letter,
    table,
  };
}

/** What was done last, and what came of it, in so many characters: of a path its end tells the most. */
function detailOf({ function: name, kind, operation, status, answer: told }: Attempt, room: number): string {
  if (told !== undefined) return `${name} · ${told}`.slice(0, room);
  const [method = '', path = ''] = operation?.split(' ') ?? [];
  // A success that was none, such as a proxy's page.
  const isUsable = !(kind === 'unavailable' && status !== undefined && status < 300);
  const answer = [status, isUsable && status ? undefined : 'no usable answer'].filter(Boolean).join(', ');
  const withPath = (shown: string) =>
    [name, kind, operation && `${method} ${shown} → ${answer}`].filter(Boolean).join(' · ');
  if (withPath(path).length <= room) return withPath(path);
  const ends = path.split('/').map((_, at, parts) => parts.slice(at + 1).join('/'));
  const shown = ends.map((end) => (end === '' ? '…' : `…/${end}`));
  return shown.map(withPath).find((text) => text.length <= room) ?? withPath('…').slice(0, room);
}
