/**
 * The content of a console screen or a command's output, as data: blocks, and in place of those that are not shown, false or undefined.
 * One renderer shows it on a terminal, one as HTML.
 */
export type View = readonly (Block | false | undefined)[];

/** `todo`: an action for a person. `quiet`: secondary information. */
export type Tone = 'good' | 'bad' | 'unknown' | 'warn' | 'todo' | 'plain' | 'quiet';

/**
 * A sentence; its tone decides the colour and the mark before it. If `command` continues it, it has no full stop. `to`: the console's
 * screen
 * with details.
 */
export type Note = { tone: Tone; text: string; command?: string; to?: string };

/**
 * `to`: the console's screen with details. `code`: a name as it is typed. `badge`: one of a few states or kinds. `isWhole`: in the last
 * column of a table, it is wrapped where others are cut. `isApart`: where it is cut, it stays different from the others of its column.
 */
export type Words = {
  text: string;
  tone?: Tone;
  to?: string;
  code?: true;
  badge?: true;
  isWhole?: true;
  isApart?: true;
};

export type Piece = string | number | undefined | Words;

/** The content of a table cell. Numbers, ages and shares are aligned to the right. Only the console shows forms and ticks. */
export type Cell =
  | Piece
  | { sinceMs: number | undefined }
  | { count: number; of: number }
  | Form
  | { tick: string; isTicked?: boolean }
  | readonly Words[];

export type Field =
  | { reason: 'required' | 'optional'; value?: string | undefined }
  | { checkbox: string; label: string; isChecked?: boolean; isRequired?: boolean }
  | { field: string; label: string; value?: string | number | undefined; hint?: string }
  | { choice: string; label: string; options: readonly string[]; none?: string; chosen?: readonly string[] }
  | FieldOfMessage;

/** A field of a message that may be changed or removed. `now`: what it holds, if that is shown. */
export type FieldOfMessage = {
  path: string;
  options: readonly string[];
  typed?: string | undefined;
  isRemoved?: boolean;
  now?: string | undefined;
  problem?: string | undefined;
};

/** Only the console shows it. */
export type Form = {
  action: string;
  hidden?: Record<string, string | readonly string[]>;
  fields?: readonly Field[];
  /** A button with a value sends it as `decision`. */
  buttons: readonly { text: string; value?: string }[];
  /** A read-only console shows it, too. */
  isHarmless?: true;
  /** What the screen is for: the focus begins there. */
  isMain?: true;
  /** The text that opens the form. */
  summary?: string;
  /** The form changes nothing, and its fields go into the address. */
  isSearch?: true;
};

/** Columns side by side, for example for the hours of a day. */
export type Chart = {
  title: string;
  labels: readonly string[];
  series: readonly { name: string; tone: string; values: readonly number[] }[];
};

type Row = { cells: readonly Cell[]; id?: string; under?: View };

/** Rows with content under them are shown one by one. */
export type Table = {
  caption: string;
  titles: readonly (string | Words)[];
  rows: readonly Row[];
  /** Also draws the numbers of the first numeric column. */
  hasBars?: boolean;
};

export type Block =
  | Note
  | { heading: string; tone?: Tone }
  | { text: readonly Piece[] }
  /** The words of the platform or of a person. */
  | { quote: string }
  | { list: readonly (readonly Piece[])[] }
  | { facts: readonly (readonly [label: string, value: Piece])[] }
  | { table: Table }
  /** Separated from what is before it and after it. */
  | { part: View; title?: string; isFirst?: boolean }
  /** A command to type next, without the program's name. The console has buttons and links instead. */
  | { command: string; lead?: string }
  | { document: unknown; label: string }
  | { charts: readonly Chart[] }
  /** What a list omits, without a full stop: on a terminal, a higher limit shows it. */
  | { more: string }
  | Form
  | { links: readonly Link[] }
  /** Content that takes long, on its own screen: the console's script inserts it here. */
  | { later: string; to: string };

/** A read-only console hides a link that leads to a change. */
export type Link = { text: string; to: string; isChange?: true };

/** The console's screen at this path. Undefined and empty values are omitted from the query. */
export const href = (
  path: string,
  query: Record<string, string | number | readonly string[] | undefined> = {},
): string => {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value ?? []]
        .flat()
        .filter((each) => each !== '')
        .map((each): [string, string] => [name, String(each)]),
    ),
  ).toString();
  return search === '' ? path : `${path}?${search}`;
};

export const badge = (text: string, tone: Tone): Words => ({ text, tone, badge: true });

export const text = (...pieces: Piece[]): Block => ({ text: pieces });

export const list = (items: readonly (Piece | readonly Piece[])[]): Block => ({
  list: items.map((item) => [item].flat() as Piece[]),
});

export const part = (...blocks: View): Block => ({ part: blocks });

export const section = (title: string, ...blocks: View): Block => ({ title, part: blocks });

/** The cell of a row, by the column's title. */
export type Columns<Of> = Record<string, (row: Of) => Cell>;

type TableOptions<Of> = {
  /** Shown in place of a table without rows; default: nothing. */
  empty?: string;
  /** Titles that are more than text. */
  titles?: Record<string, Words>;
  under?: (row: Of) => View;
  idOf?: (row: Of) => string;
  hasBars?: boolean;
};

export const table = <Of>(
  caption: string,
  rows: readonly Of[],
  columns: Columns<NoInfer<Of>>,
  { empty = '', titles = {}, under, idOf, hasBars = false }: TableOptions<NoInfer<Of>> = {},
): Block => {
  if (rows.length === 0) return empty === '' ? part() : { tone: 'quiet', text: empty };
  const cellsOf = Object.values(columns);
  return {
    table: {
      ...{ caption, hasBars },
      titles: Object.keys(columns).map((title) => titles[title] ?? title),
      rows: rows.map((row) => ({
        cells: cellsOf.map((cellOf) => cellOf(row)),
        ...(idOf && { id: idOf(row) }),
        ...(under && { under: under(row) }),
      })),
    },
  };
};
