/** What a screen of the console and the output of a command say, as data. One renderer shows it on a terminal, one as HTML. */
export type View = readonly Block[];

/** `todo`: what a person is to do. `quiet`: what is said beside the rest. */
export type Tone = 'good' | 'bad' | 'unknown' | 'warn' | 'todo' | 'plain' | 'quiet';

/**
 * A sentence; its tone decides the colour, and the mark before it. If a command to type says more, it has no full stop. `to`: the screen
 * of the console that shows more.
 */
export type Note = { tone: Tone; text: string; command?: string; to?: string };

/** `to`: the screen of the console that shows more. `code`: a name as it is typed. `badge`: one of a few states or kinds. */
export type Words = { text: string; tone?: Tone; to?: string; code?: true; badge?: true };

export type Piece = string | number | undefined | Words;

/** What a table has in a column. Numbers, ages and shares stand to the right. Forms and ticks are the console's alone. */
export type Cell =
  | Piece
  | { sinceMs: number | undefined }
  | { count: number; of: number }
  | Form
  | { tick: string }
  | readonly Words[];

export type Field =
  | { reason: 'required' | 'optional'; value?: string | undefined }
  | { checkbox: string; label: string; isChecked?: boolean; isRequired?: boolean }
  | { field: string; label: string; value?: string | number | undefined; hint?: string }
  | { choice: string; label: string; options: readonly string[]; none?: string; chosen?: readonly string[] };

/** Only the console shows it. */
export type Form = {
  action: string;
  hidden?: Record<string, string | readonly string[]>;
  fields?: readonly Field[];
  /** One that has a value sends it as `decision`. */
  buttons: readonly { text: string; value?: string }[];
  /** A console that changes nothing shows it, too. */
  isHarmless?: true;
  /** It is opened by this. */
  summary?: string;
  /** It changes nothing, and its fields come into the address. */
  isSearch?: true;
};

/** Columns side by side, as for the hours of a day. */
export type Chart = {
  title: string;
  labels: readonly string[];
  series: readonly { name: string; tone: string; values: readonly number[] }[];
};

type Row = { cells: readonly Cell[]; id?: string; under?: View };

/** Rows with something under them are shown one by one. */
export type Table = {
  caption: string;
  titles: readonly (string | Words)[];
  rows: readonly Row[];
  /** Draws the numbers of the first column that has some, too. */
  hasBars?: boolean;
};

export type Block =
  | Note
  | { heading: string; tone?: Tone }
  | { text: readonly Piece[] }
  /** What the platform or a person wrote. */
  | { quote: string }
  | { list: readonly (readonly Piece[])[] }
  | { facts: readonly (readonly [label: string, value: Piece])[] }
  | { table: Table }
  /** It is set apart from what is before it and after it. */
  | { part: View; title?: string; isFirst?: boolean }
  /** What to type next, without the program's name: the console has buttons and links instead. */
  | { command: string; lead?: string }
  | { document: unknown; label: string }
  | { charts: readonly Chart[] }
  /** What a list leaves out, without a full stop: on a terminal, a higher limit shows it. */
  | { more: string }
  | Form
  | { links: readonly Link[] }
  /** What takes long, on a screen of its own: the console's script puts it here. */
  | { later: string; to: string };

/** One that leads to a change is not shown in a console that changes nothing. */
export type Link = { text: string; to: string; isChange?: true };

/** The note, if there is something to say. */
export const noteIf = (isSo: boolean, tone: Tone, text: string): Note[] => (isSo ? [{ tone, text }] : []);

/** The screen of the console at this path; what is undefined or empty is left out of the query. */
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

/** By its title, what a row has in a column. */
export type Columns<Of> = Record<string, (row: Of) => Cell>;

type TableOptions<Of> = {
  /** In place of a table without rows; default: nothing. */
  empty?: string;
  /** In place of titles that are more than text. */
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
