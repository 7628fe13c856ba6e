import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Integration } from '../../../delivery/handle/integration.ts';
import { type Cell, columnsOf, eventOf, unknownColumns } from '../../../delivery/mapping/columns.ts';
import { eventsOf, type ProducedMessage, problemWithValue } from '../../../delivery/mapping/events.ts';
import { columnsIn, type Mapping, mappingAs, readMapping } from '../../../delivery/mapping/mapping.ts';
import { type UnwrapResult, unwrapped } from '../../../message/envelope.ts';
import { isJson, isObject, readJson, readJsonWithPlace } from '../../../message/json.ts';
import { maxMessageBytes } from '../../../message/sqs-limits.ts';
import { delimiterIn } from '../../../runtime/files/tables/delimiter.ts';
import { doubtfulRows, tableRows } from '../../../runtime/files/tables/table.ts';
import { UnusableFile } from '../../../runtime/files/tables/unusable-file.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import type { Input } from '../../../stage/input.ts';
import type { Integrations } from '../../../stage/integrations.ts';
import { linesIn, withoutMark } from '../../../stage/lines.ts';
import { unknownName } from '../../../stage/nearest.ts';
import { type Body, type EventTimeOptions, eventBody, saidBody } from './event-body.ts';
import { type Format, formatOf, formats } from './formats.ts';

/** One message of a file, or why there is none. `line` counts from 1; in a JSON file it counts messages. */
export type Row = {
  line: number;
  body?: string;
  problem?: string;
  /** With a mapping: problems are reported by the columns that produced the message. */
  made?: Pick<ProducedMessage, 'columns'>;
  /** With a mapping: the row produces no message. */
  skipped?: boolean;
  /** As in event-body.ts. */
  isNew?: boolean;
};

export type Source = {
  input: Input;
  format?: Format | undefined;
  /** The function for data without an envelope. */
  function?: string | undefined;
  /** How table rows become messages, possibly of several functions. */
  mapping?: Mapping | undefined;
  /** Each message gets the present time, and a sequence in the order of the file: it replaces what was sent before. */
  now?: boolean | undefined;
};

/** @throws UsageError that lists everything that is wrong with it. */
export const openMapping = async (file: string, integrations: Integrations): Promise<Mapping> => {
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      error.code === 'ENOENT' ? `There is no file ${file}.` : `${file} cannot be read: ${error.code}.`,
    );
  });
  return mappingIn(file, content, integrations);
};

/** @throws UsageError that lists everything that is wrong with it. */
export const mappingIn = (file: string, content: string, integrations: Integrations): Mapping => {
  const read = readMapping(withoutMark(content), integrations);
  if ('mapping' in read) return read.mapping;
  throw new UsageError(
    `${file} is not a valid mapping file:\n${read.problems.map((each) => `  ${each}`).join('\n')}`,
  );
};

/** By the time that messages without one get. */
export type OpenedRows = (nowMs?: number) => AsyncGenerator<Row>;

/** Reads a file row by row, as often as requested. @throws UsageError if it is not readable in its declared format. */
export const openRows = async (
  { input, format, now = false, mapping, ...source }: Source,
  integrations: Integrations,
): Promise<OpenedRows> => {
  const integration = integrationOf(source.function, integrations);
  if (mapping && integration)
    throw new UsageError('A mapping file names the functions itself. Pass --map or --function, not both.', {
      inBrowser: 'A mapping file names the functions itself. Choose a mapping file or a function.',
    });
  // A corrected mapping produces other messages, whose ids are no duplicates.
  const digest = await digestOf(input, mapping?.text);
  const kind = format ?? formatOf(input.name);
  if (kind === undefined)
    throw new UsageError(`The format of ${input.name} is not known. Pass --format ${formats.join('|')}.`, {
      inBrowser: `The format of ${input.name} is not known. Give its name the ending .json, .jsonl or .csv.`,
    });
  const readingOf = readerOf({ kind, input, mapping, integration, integrations });
  return (nowMs = Date.now()) => {
    const dating: EventTimeOptions = {
      digest,
      now,
      time: new Date(nowMs).toISOString(),
      isRepeatable: (name) => integrations.get(name)?.repeatable === true,
    };
    return readingOf(dating);
  };
};

type OpenTable = Pick<Source, 'input' | 'mapping'> & {
  kind: Format;
  integration: Integration<unknown> | undefined;
  integrations: Integrations;
};

const readerOf = ({
  kind,
  input,
  mapping,
  integration,
  integrations,
}: OpenTable): ((dating: EventTimeOptions) => AsyncGenerator<Row>) => {
  if (mapping) {
    if (kind !== 'csv')
      throw new UsageError(`A mapping is only for the rows of a CSV file, not for ${kind}.`);
    return (dating) => csvRows(input, mappedRows(mapping, dating));
  }
  if (kind === 'csv') {
    if (integration === undefined)
      throw new UsageError(
        `A table holds messages for one function. Pass --function and its name, or --map and a mapping file. There are: ${[...integrations.keys()].join(', ')}.`,
        { inBrowser: 'A table holds messages for one function. Choose a function, or a mapping file.' },
      );
    return (dating) => csvRows(input, ownRows(integration, dating));
  }
  const bodyIn =
    (dating: EventTimeOptions): BodyIn =>
    (json, line, text) => {
      const isBare = integration && isObject(json) && !('specversion' in json) && isPlain(unwrapped(json));
      return isBare
        ? eventBody({ data: json }, { line, name: integration.name }, dating)
        : saidBody(text, line, dating);
    };
  return kind === 'json'
    ? (dating) => jsonRows(input, bodyIn(dating))
    : (dating) => lineRows(input, bodyIn(dating));
};

/** Data without an envelope, neither ours nor a service's. */
const isPlain = (unwrappedEvent: UnwrapResult): boolean =>
  'event' in unwrappedEvent && unwrappedEvent.envelopes.length === 0;

const integrationOf = (name: string | undefined, integrations: Integrations) => {
  if (name === undefined || integrations.has(name)) return integrations.get(name ?? '');
  throw new UsageError(unknownName('function', name, [...integrations.keys()]));
};

/** @throws UsageError if the file is not UTF-8: its umlauts would reach the platform as other characters. */
const digestOf = async (input: Input, beside = ''): Promise<string> => {
  const hash = createHash('sha256').update(beside);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const piece of input.open()) {
      hash.update(piece);
      decoder.decode(piece, { stream: true });
    }
    decoder.decode();
  } catch (error) {
    if (error instanceof TypeError)
      throw new UsageError(
        `${input.name} is not UTF-8. Save it as UTF-8 (in a spreadsheet, as “CSV UTF-8”).`,
      );
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    throw new UsageError(`${input.name} cannot be read: ${code}`);
  }
  return hash.digest('hex').slice(0, 16);
};

/** `text`: the message as it is written, which may use other escapes than `JSON.stringify`. */
type BodyIn = (json: unknown, line: number, text: string) => Body;

/** One message, a list of them, or an event as Lambda receives it. */
async function* jsonRows(input: Input, bodyIn: BodyIn): AsyncGenerator<Row> {
  const whole = withoutMark(await text(input.open())).trim();
  const read = readJsonWithPlace(whole);
  if ('problem' in read) throw notJson(input.name, whole, read);
  const { json } = read;
  const records = (json as { Records?: unknown } | null)?.Records;
  for (const [at, each] of [records ?? json].flat().entries()) {
    const record =
      records && typeof (each as { body?: unknown } | null)?.body === 'string' ? each : undefined;
    const written = each === json ? whole : JSON.stringify(each);
    const body = record ? (record as { body: string }).body : written;
    yield { line: at + 1, ...bodyIn(record ? undefined : each, at + 1, body) };
  }
}

const notJson = (
  name: string,
  whole: string,
  { flaw, problem }: { flaw: string; problem: string },
): UsageError => {
  if (whole === '')
    return new UsageError(
      `${name} is empty. It must hold a message, a list of messages, or a message on each line.`,
    );
  if (flaw === 'too deep') return new UsageError(`${name} ${problem}.`);
  const [first = '', ...others] = whole.split('\n');
  if (others.length > 0 && isJson(first))
    return new UsageError(`${name} holds more than one message, each on its line: pass --format jsonl.`, {
      inBrowser: `${name} holds more than one message, each on its line: give its name the ending .jsonl.`,
    });
  return new UsageError(`${name} ${problem}. Correct it there, and check it again.`);
};

async function* lineRows(input: Input, bodyIn: BodyIn): AsyncGenerator<Row> {
  let line = 0;
  for await (const each of linesIn(input.open())) {
    line += 1;
    const written = each.trim();
    if (written === '') continue;
    const read = readJson(written);
    yield 'problem' in read ? { line, problem: read.problem } : { line, ...bodyIn(read.json, line, written) };
  }
}

type Cells = Map<string, Cell>;

/** How a table is read; the column names in its header are checked once. */
type TableFormat = {
  /** Undefined: it is seen in the first row. */
  separator?: string | undefined;
  /** @throws UsageError */
  begin(header: string[], name: string, separator: string): void;
  rows(line: number, cells: Cells): Row[];
};

/** For a table whose columns are the fields of one function's data. */
const ownRows = (integration: Integration<unknown>, dating: EventTimeOptions): TableFormat => {
  const columns = columnsOf(integration);
  let decimal: 'either' | undefined;
  return {
    begin: (header, name, separator) => {
      // Programs that write semicolons write a decimal comma.
      if (separator === ';') decimal = 'either';
      const unknown = unknownColumns(header, columns);
      if (unknown.length > 0)
        throw new UsageError(
          `${name} has columns that ${integration.name} does not know: ${unknown.map((each) => each || 'one without a name').join(', ')}. It knows ${[...columns.keys()].join(', ')}.`,
        );
      refuseTwice(header, name);
    },
    rows: (line, cells) => [
      { line, ...eventBody(eventOf(cells, columns, decimal), { line, name: integration.name }, dating) },
    ],
  };
};

const refuseTwice = (header: string[], name: string): void => {
  const [twice] = header.filter((each, at, all) => all.indexOf(each) < at);
  if (twice !== undefined) throw new UsageError(`${name} has the column ${twice} twice. Remove one of them.`);
};

/** For a table whose columns are the SIS' own. */
const mappedRows = (given: Mapping, dating: EventTimeOptions): TableFormat => {
  const columns = columnsIn(given);
  let mapping = given;
  return {
    separator: given.cells.separator,
    begin: (header, name, separator) => {
      mapping = mappingAs(given, separator);
      const missing = [...columns].filter(([column]) => !header.includes(column));
      if (missing.length > 0)
        throw new UsageError(
          `${name} has no column ${missing.map(([column, reader]) => `${column} (which ${reader} reads)`).join(', ')}. It has ${header.join(', ')}.`,
        );
      refuseTwice(
        header.filter((each) => columns.has(each)),
        name,
      );
    },
    rows: (line, cells) => {
      const { events, problems } = eventsOf(cells, mapping);
      if (problems) {
        const texts = problems.map((each) => `${each.column}: ${problemWithValue(each)}`);
        return [{ line, problem: texts.join('; ') }];
      }
      if (events.length === 0) return [{ line, skipped: true }];
      return events.map(({ function: name, at, data, time, columns }) => {
        // A row may produce several messages.
        const part = mapping.messages.length > 1 ? { part: at + 1 } : {};
        const event = { data, ...(time !== undefined && { time }) };
        return { line, ...eventBody(event, { line, name, ...part }, dating), made: { columns } };
      });
    },
  };
};

async function* csvRows(input: Input, format: TableFormat): AsyncGenerator<Row> {
  let header: string[] | undefined;
  const options = {
    file: input.name,
    maxRecordBytes: maxMessageBytes,
    delimiterIn: format.separator === undefined ? delimiterIn : () => format.separator ?? ',',
  };
  try {
    const rows = tableRows(input.open(), {
      ...options,
      doubtful: await doubtfulRows(input.open(), options),
      onHeader: (columns, separator) => {
        header = columns;
        format.begin(columns, input.name, separator);
      },
    });
    for await (const row of rows) {
      if (row.problem === undefined)
        yield* format.rows(row.line, new Map(header?.map((name, at) => [name, row.cells[at] as Cell])));
      else yield { line: row.line, problem: row.problem };
    }
  } catch (error) {
    throw error instanceof UnusableFile ? new UsageError(`${error.message}.`) : error;
  }
}
