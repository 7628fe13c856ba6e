import { plain } from '../../../runtime/privacy/printable.ts';
import { ageOf, numberOf, shareText } from '../../views/format.ts';
import { timeText } from '../../views/trace.ts';
import type { Block, Cell, Note, Piece, StyledText, Table, Tone, View } from '../../views/view.ts';
import { tableOf, truncated, widthOf, wrapped } from './table.ts';
import { asTyped, type Terminal } from './terminal.ts';

type TextLayout = Pick<Terminal, 'style' | 'width' | 'command'>;

const colours = {
  good: 'green',
  bad: 'red',
  unknown: 'yellow',
  warn: 'yellow',
  todo: 'cyan',
  quiet: 'dim',
} as const;

const toned = (tone: Tone | undefined, text: string, { style }: Pick<Terminal, 'style'>): string =>
  tone === undefined || tone === 'plain' ? text : style(colours[tone], text);

/** Renders a view as lines. Empty lines separate parts. */
export const linesOf = (view: View, terminal: TextLayout): string[] => {
  const lines: string[] = [];
  let isApart = false;
  for (const block of view) {
    const own = block ? linesOfBlock(block, terminal) : [];
    if (!block || own.length === 0) continue;
    if (lines.length > 0 && (isApart || 'part' in block)) lines.push('');
    lines.push(...own);
    isApart = 'part' in block;
  }
  return lines;
};

const linesOfBlock = (block: Block, terminal: TextLayout): string[] => {
  const { style, width } = terminal;
  if ('heading' in block)
    return wrapped(plain(block.heading), width, '  ').map((line) =>
      style('bold', toned(block.tone, line, terminal)),
    );
  if ('part' in block) {
    const lines = linesOf(block.part, terminal);
    return block.title === undefined || lines.length === 0 ? lines : [style('bold', block.title), ...lines];
  }
  if ('step' in block) return [...noteLines(block.step, terminal), ...linesOf(block.next, terminal)];
  if ('actions' in block) return linesOf(block.actions, terminal);
  if ('fold' in block) return linesOf(block.fold, terminal);
  if ('timeline' in block)
    return factLines(
      block.timeline.map(({ at, line, remedy }) => [
        timeText(at),
        remedy === undefined ? line : `${line}. → ${asTyped(remedy, terminal)}`,
      ]),
      terminal,
    );
  if ('tone' in block) return noteLines(block, terminal);
  if ('text' in block) return pieceLines(block.text, terminal);
  if ('quote' in block)
    return wrapped(truncated(`“${plain(block.quote)}”`, Math.max(300, width)), width, '  ').map((line) =>
      style('dim', line),
    );
  if ('list' in block)
    return block.list.flatMap((item) =>
      pieceLines(item, { ...terminal, width: width - 2 }).map((line) => `  ${line}`),
    );
  if ('facts' in block) return factLines(block.facts, terminal);
  if ('table' in block) return tableLines(block.table, terminal);
  if ('command' in block) return [commandLine(block, terminal)];
  if ('more' in block) return [style('dim', `${block.more}: a higher --limit shows more.`)];
  if ('document' in block) return documentLines(block.document);
  // Only the console shows links and forms.
  return [];
};

/** A command that does not fit after its sentence gets its own line, so that it can be copied. */
const noteLines = ({ tone, text, command }: Note, terminal: TextLayout): string[] => {
  const sentence = `${marks[tone]}${asTyped(plain(text), terminal)}`;
  const hint = command === undefined ? '' : plain(terminal.command(command));
  const whole = hint === '' ? sentence : `${sentence}: ${hint}`;
  const lines =
    hint === '' || widthOf(whole) <= terminal.width
      ? wrapped(whole, terminal.width, '  ')
      : [...wrapped(`${sentence}:`, terminal.width, '  '), `  ${hint}`];
  return lines.map((line) => toned(tone, line, terminal));
};

/** Marks show a state without colours, too. */
const marks: Record<Tone, string> = {
  good: '✓ ',
  bad: '✗ ',
  unknown: '? ',
  todo: '→ ',
  warn: '',
  plain: '',
  quiet: '',
};

/** A single piece keeps its colour. */
const pieceLines = (pieces: readonly Piece[], terminal: TextLayout): string[] => {
  const tone = pieces.length === 1 ? toneOf(pieces[0]) : undefined;
  const lines = wrapped(pieces.map(textOf).join(''), terminal.width, '  ');
  return lines.map((line) => toned(tone, line, terminal));
};

/** In one line, however long, so that it can be copied. */
const commandLine = ({ command, lead }: { command: string; lead?: string }, terminal: TextLayout): string =>
  terminal.style('dim', `${lead === undefined ? '' : `${lead}: `}${terminal.command(command)}`);

const documentLines = (value: unknown): string[] =>
  (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'nothing'))
    .split('\n')
    .map((line) => `  ${plain(line)}`);

const factLines = (
  facts: readonly (readonly [label: string, value: Piece])[],
  terminal: TextLayout,
): string[] => {
  const room = Math.max(...facts.map(([label]) => widthOf(label))) + 2;
  return facts.flatMap(([label, value]) =>
    wrapped(factText(value, terminal), terminal.width - room).map(
      (line, at) =>
        terminal.style('dim', (at === 0 ? label : '').padEnd(room)) + toned(toneOf(value), line, terminal),
    ),
  );
};

/** Only what is to be done names commands: facts may be the words of others. */
const factText = (value: Piece, terminal: TextLayout): string =>
  toneOf(value) === 'todo' ? asTyped(textOf(value), terminal) : textOf(value);

const textOf = (piece: Piece): string => {
  if (piece === undefined) return '–';
  if (typeof piece === 'number') return piece === 0 ? '–' : numberOf(piece);
  return plain(typeof piece === 'string' ? piece : piece.text);
};

const isList = (cell: Cell): cell is readonly StyledText[] => Array.isArray(cell);

const isForConsole = (cell: Cell): boolean =>
  typeof cell === 'object' && !isList(cell) && ('action' in cell || 'tick' in cell);

const isRight = (cell: Cell): boolean =>
  typeof cell === 'number' ||
  (typeof cell === 'object' && !isList(cell) && ('sinceMs' in cell || 'count' in cell));

const isWhole = (cell: Cell): boolean => typeof cell === 'object' && 'isWhole' in cell;

const isApart = (cell: Cell): boolean => typeof cell === 'object' && 'isApart' in cell;

const cellText = (cell: Cell): string => {
  if (typeof cell !== 'object') return textOf(cell);
  if (isList(cell)) return cell.map(textOf).join(' ');
  if ('sinceMs' in cell) return cell.sinceMs === undefined ? '–' : ageOf(cell.sinceMs);
  if ('count' in cell) return shareText(cell);
  return 'text' in cell ? textOf(cell) : '';
};

const toneOf = (cell: Cell): Tone | undefined =>
  typeof cell === 'object' && !isList(cell) && 'text' in cell ? cell.tone : undefined;

const tableLines = ({ titles, rows }: Table, terminal: TextLayout): string[] => {
  const { style, width } = terminal;
  const columns = titles.flatMap((title, at) => {
    const cells = rows.map((row) => row.cells[at]);
    if (cells.some(isForConsole)) return [];
    return {
      title: textOf(title),
      right: cells.some(isRight),
      cells,
      whole: cells.some(isWhole),
      apart: cells.some(isApart),
    };
  });
  const texts = rows.map((_, row) => columns.map(({ cells }) => cellText(cells[row])));
  const [header = '', ...lines] = tableOf(columns, texts, {
    width,
    paint: (text, { row, column }) => toned(toneOf(columns[column]?.cells[row]), text, terminal),
  });
  if (rows.every(({ under }) => under === undefined))
    return [
      ...header.split('\n').map((line) => style('dim', line)),
      ...lines.flatMap((line) => line.split('\n')),
    ];
  const indent =
    Math.max(...[columns[0]?.title ?? '', ...texts.map(([first = '']) => first)].map(widthOf)) + 2;
  const each = rows.map(({ under = [] }, at) => [
    lines[at] ?? '',
    ...linesOf(under, { ...terminal, width: width - indent }).map((line) => ' '.repeat(indent) + line),
  ]);
  return [style('dim', header), ...each.flatMap((own, at) => (at === 0 ? own : ['', ...own]))];
};

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
