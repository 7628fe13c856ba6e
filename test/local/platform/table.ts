type Id = number | string;

/** Rows under a key made of one or more of their fields, found again by the key or by one indexed field. */
type Table<Row> = {
  get(...key: Id[]): Row | undefined;
  put(row: Row): Row;
  delete(row: Row): void;
  where(field: keyof Row & string, value: Id): Row[];
  all(): Row[];
};

export function table<Row extends object>(
  keyFields: (keyof Row & string)[],
  indexFields: (keyof Row & string)[] = [],
): Table<Row> {
  const rows = new Map<string, Row>();
  const indexes = new Map(indexFields.map((field) => [field, new Map<unknown, Map<string, Row>>()]));
  const keyOf = (row: Row) => keyFields.map((field) => row[field]).join('/');

  function remove(row: Row) {
    const key = keyOf(row);
    const stored = rows.get(key);
    if (stored === undefined) return;
    rows.delete(key);
    for (const [field, index] of indexes) index.get(stored[field])?.delete(key);
  }

  function put(row: Row) {
    const key = keyOf(row);
    rows.set(key, row);
    for (const [field, index] of indexes) {
      const group = index.get(row[field]) ?? new Map<string, Row>();
      index.set(row[field], group.set(key, row));
    }
    return row;
  }

  function where(field: keyof Row & string, value: Id) {
    const index = indexes.get(field);
    if (index === undefined) throw new Error(`no index on ${field}`);
    return [...(index.get(value)?.values() ?? [])];
  }

  return {
    get: (...key) => rows.get(key.join('/')),
    put,
    delete: remove,
    where,
    all: () => [...rows.values()],
  };
}
