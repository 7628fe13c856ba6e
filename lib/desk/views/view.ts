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
export type StyledText = {
  text: string;
  tone?: Tone;
  to?: string;
  code?: true;
  badge?: true;
  isWhole?: true;
  isApart?: true;
};

export type Piece = string | number | undefined | StyledText;

/** The content of a table cell. Numbers, ages and shares are aligned to the right. Only the console shows forms and ticks. */
export type Cell =
  | Piece
  | { sinceMs: number | undefined }
  | { count: number; of: number }
  | Form
  | { tick: string; isTicked?: boolean }
  | readonly StyledText[];

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

/** `short`: on a card that says the rest. */
type Button = { text: string; value?: string; isDestructive?: true; short?: string };

/** Only the console shows it. */
export type Form = {
  action: string;
  hidden?: Record<string, string | readonly string[]>;
  fields?: readonly Field[];
  /** A button with a value sends it as `decision`. */
  buttons: readonly Button[];
  /** A read-only console shows it, too. */
  isHarmless?: true;
  /** What the screen is for: the focus begins there. */
  isMain?: true;
  /** The text that opens the form. */
  summary?: string;
  /** The form changes nothing, and its fields go into the address. */
  isSearch?: true;
};

/**
 * `now`: something stands still until a person acts. `today`: letters wait for a person. `watch`: it may heal by itself. `note`: it
 * needs nobody. `shortcut`: one step in place of several of the others.
 */
export type Severity = 'now' | 'today' | 'watch' | 'note' | 'shortcut';

/**
 * Something for a person to do: a sentence, for the console in parts; then what to do, its first action first. The console shows it as a
 * numbered card with one button, and the rest behind “More”. `whom`: the people whom it harms.
 */
export type Step = {
  step: Note;
  severity: Severity;
  card?: { title: string; text?: string; whom?: string };
  next: View;
};

/** One number of the first screen. */
export type Figure = {
  label: string;
  value: string;
  tone?: Tone;
  to?: string;
  note?: string;
};

/**
 * Something that happened to a message. `text`: in a few words; `more`: what explains it, as the call and its answer. `line`: both for a
 * terminal. `remedy`: what to do about it, which follows both.
 */
export type Moment = {
  at: string;
  text: string;
  tone: Tone;
  more?: readonly string[];
  line: string;
  remedy?: string;
};

/** Columns side by side, for example for the hours of a day. */
export type Chart = {
  title: string;
  labels: readonly string[];
  /** `note`: in place of the sum. */
  series: readonly { name: string; tone: string; values: readonly number[]; note?: string }[];
  /** Each series has a row and a scale of its own. */
  isApart?: boolean;
};

type Row = { cells: readonly Cell[]; id?: string; under?: View };

/** Rows with content under them are shown one by one. */
export type Table = {
  caption: string;
  titles: readonly (string | StyledText)[];
  /** Columns that a small screen leaves out. */
  minor?: readonly string[];
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
  /** `problems`: what is wrong with the values at these paths, as in `data.grade.points`. */
  | { document: unknown; label: string; problems?: readonly Problem[] }
  | { charts: readonly Chart[] }
  | Step
  /** Only for the console. */
  | { figures: readonly Figure[]; health: Note; beside: Block }
  | { timeline: readonly Moment[] }
  /** The console shows it when somebody opens it. */
  | { fold: View; summary: string; tone?: Tone }
  /** What a list omits, without a full stop: on a terminal, a higher limit shows it. */
  | { more: string }
  | Form
  | { links: readonly Link[] }
  /** What to press, in one row: the first one is filled. */
  | { actions: View }
  /** Content that takes long, on its own screen: the console's script inserts it here. */
  | { later: string; to: string };

export type Problem = { path: string; problem: string };

/** A read-only console hides a link that leads to a change. `isDestructive`: what it leads to cannot be undone by itself. */
export type Link = { text: string; to: string; isChange?: true; isDestructive?: true; short?: string };

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

export const badge = (text: string, tone: Tone): StyledText => ({ text, tone, badge: true });

export const text = (...pieces: Piece[]): Block => ({ text: pieces });

export const list = (items: readonly (Piece | readonly Piece[])[]): Block => ({
  list: items.map((item) => [item].flat() as Piece[]),
});

export const part = (...blocks: View): Block => ({ part: blocks });

/** The first note says what is wrong, and the rest what to do. */
export const stepOf = (
  [step, ...next]: readonly [Note, ...View],
  severity: Severity,
  card?: NonNullable<Step['card']>,
): Step => ({ step, severity, next, ...(card && { card }) });

export const section = (title: string, ...blocks: View): Block => ({ title, part: blocks });

/** The cell of a row, by the column's title. */
export type Columns<Of> = Record<string, (row: Of) => Cell>;

type TableOptions<Of> = {
  /** Shown in place of a table without rows; default: nothing. */
  empty?: string;
  /** Titles that are more than text. */
  titles?: Record<string, StyledText>;
  under?: (row: Of) => View;
  idOf?: (row: Of) => string;
  hasBars?: boolean;
  minor?: readonly string[];
};

export const table = <Of>(
  caption: string,
  rows: readonly Of[],
  columns: Columns<NoInfer<Of>>,
  { empty = '', titles = {}, under, idOf, hasBars = false, minor = [] }: TableOptions<NoInfer<Of>> = {},
): Block => {
  if (rows.length === 0) return empty === '' ? part() : { tone: 'quiet', text: empty };
  const cellsOf = Object.values(columns);
  return {
    table: {
      caption,
      hasBars,
      minor,
      titles: Object.keys(columns).map((title) => titles[title] ?? title),
      rows: rows.map((row) => ({
        cells: cellsOf.map((cellOf) => cellOf(row)),
        ...(idOf && { id: idOf(row) }),
        ...(under && { under: under(row) }),
      })),
    },
  };
};
