/**
 * The one place that knows the form of a state, a Parquet file. It keeps the names that version 1.0 gave to its columns and kinds, so
 * that an upgrade reads what was written before it, and a step back reads what was written after it. The import reads each kind of row
 * by a view, and writes it from a table or view, both with full names.
 */

/** The columns of the file, in their order. */
const fileColumns = {
  kind: 'VARCHAR',
  key: 'VARCHAR',
  grp: 'VARCHAR',
  a: 'VARCHAR',
  b: 'VARCHAR',
  org: 'VARCHAR',
  value: 'VARCHAR',
  data: 'VARCHAR',
  removed: 'VARCHAR',
  template: 'VARCHAR',
  row: 'VARCHAR',
  at_ms: 'BIGINT',
  mark: 'UBIGINT',
  seen: 'BIGINT',
  begins: 'VARCHAR',
  ends: 'VARCHAR',
  org_unit_id: 'VARCHAR',
  user_id: 'VARCHAR',
} as const;
type FileColumn = keyof typeof fileColumns;

type RowsOfKind = {
  /** Undefined: the kind is a column, as each message of a mapping has its own. */
  kind?: string;
  /** The column of the file, by its full name; for other words than the file's, how they are read and written. */
  columns: Readonly<Record<string, FileColumn | { column: FileColumn; read: string; write: string }>>;
};

const stateRows = {
  /**
   * What is wanted: by a zip, `2` for an enrollment and `3` for a grade; by a table, the place of its message in the mapping. `row_standing`:
   * how other files read it, `several` if each row is compared by itself, `kept` if it stays for a row that cannot be used, `weighed` if
   * another file had the same meanwhile, `disputed` if it was not sent, as another file has another grade; `ending` if no row wants it, and
   * its names are not known.
   */
  wanted: {
    columns: {
      state_kind: 'kind',
      key: 'key',
      org_unit_or_object: 'a',
      user_name: 'b',
      org_unit_ref: 'org',
      wanted_value: 'value',
      data: 'data',
      removal: 'removed',
      template: 'template',
      source_row: 'row',
      said_at_ms: 'at_ms',
      source_id_hash: 'mark',
      last_snapshot_number: 'seen',
      row_standing: 'begins',
      org_unit_id: 'org_unit_id',
      user_id: 'user_id',
    },
  },
  /** The name of a class or a user, and what it stands for. */
  names: {
    kind: 'N',
    columns: {
      source_id: 'key',
      record_type: {
        column: 'a',
        read: `CASE a WHEN 'c' THEN 'class' ELSE 'user' END`,
        write: `left(record_type, 1)`,
      },
      name: 'value',
      active: 'seen',
      org_unit_id: 'org_unit_id',
      user_id: 'user_id',
    },
  },
  /** A record whose user name was another record's. */
  passed_names: { kind: 'P', columns: { source_id: 'key', name: 'value', user_id: 'user_id' } },
  /** A line item of a zip. */
  line_items: { kind: '1', columns: { source_id: 'key', json: 'data' } },
  /** A grade object without a line item. */
  grade_objects: { kind: 'O', columns: { object_id: 'key', json: 'data' } },
  /** The row of an enrollment, which a delta may name. */
  enrollment_rows: {
    kind: 'E',
    columns: {
      source_id: 'key',
      class_source_id: 'a',
      user_source_id: 'b',
      role: 'value',
      begins: 'begins',
      ends: 'ends',
      said_at_ms: 'at_ms',
    },
  },
  /** An enrollment that a delta deleted. */
  deletions: { kind: 'T', columns: { source_id: 'key', said_at_ms: 'at_ms' } },
  /** A row that could not be used. */
  refused_rows: {
    kind: 'R',
    columns: {
      kind_name: 'grp',
      source_row: 'row',
      org_unit_or_object: 'a',
      user_name: 'b',
      refused_since: 'seen',
    },
  },
  /** What such a row may have meant since it is refused, by what its names stood for. */
  refused_meanings: {
    kind: 'M',
    columns: { kind_name: 'grp', source_row: 'row', org_unit_or_object: 'a', user_name: 'b' },
  },
  /** A further row that claims the same. */
  row_claims: {
    kind: 'S',
    columns: { kind_name: 'grp', source_row: 'row', key: 'key', source_id_hash: 'mark' },
  },
  /** Each of several rows about one enrollment. `row_standing`: `kept` if it stays for a row that cannot be used. */
  enrollment_claims: {
    kind: 'A',
    columns: {
      key: 'key',
      org_unit_name: 'a',
      role: 'value',
      said_at_ms: 'at_ms',
      enrollment: 'data',
      row_standing: 'begins',
    },
  },
  /** Comments that the platform keeps of a grade that no row wants. */
  comments: {
    kind: 'C',
    columns: {
      key: 'key',
      org_unit_or_object: 'a',
      user_name: 'b',
      wanted_value: 'value',
      user_id: 'user_id',
    },
  },
} satisfies Record<string, RowsOfKind>;

/** What the rows of a state are. */
export type StateRows = keyof typeof stateRows;

/** Makes `state_columns`, an empty table with the columns of a state. */
export const stateColumns = `CREATE TABLE state_columns (${Object.entries(fileColumns)
  .map(([name, type]) => `${name} ${type}`)
  .join(', ')})`;

/**
 * Makes a view of each kind of rows of a state, such as `accepted_names`. `source`: the file, as a statement. Versions before 1.1 did not
 * write all columns.
 */
export const viewsOfState = (prefix: string, source: string | undefined): string =>
  Object.entries<RowsOfKind>(stateRows)
    .map(([rows, { kind, columns }]) => {
      const names = Object.entries(columns).map(
        ([name, column]) => `${typeof column === 'string' ? column : column.read} AS ${name}`,
      );
      const all = `(FROM state_columns WHERE false)${source === undefined ? '' : ` UNION ALL BY NAME ${source}`}`;
      return `CREATE OR REPLACE VIEW ${prefix}_${rows} AS SELECT ${names.join(', ')} FROM (${all})${kind === undefined ? '' : ` WHERE kind = '${kind}'`};`;
    })
    .join('\n');

/** A statement that gives the rows of a table or view, which has the full names, in the form of a state. */
export const inFormOfState = (rows: StateRows, from: string): string => {
  const { kind, columns }: RowsOfKind = stateRows[rows];
  const names = Object.entries(columns).map(([name, column]) =>
    typeof column === 'string' ? `${name} AS ${column}` : `${column.write} AS ${column.column}`,
  );
  return `SELECT ${kind === undefined ? '' : `'${kind}' AS kind, `}${names.join(', ')} FROM ${from}`;
};
