import { createWriteStream, existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { openSetEngine } from '../../../../lib/runtime/files/tables/engine.ts';
import { openZip } from '../../../../lib/sources/snapshots/package/zip.ts';

/** The engine alone, with the same joins as an import: rows, names, what differs as JSON, and what is kept. It judges no row. */
const [folder = '', file = ''] = process.argv.slice(2);
const files = await openZip(join(folder, file), () => true);
for (const name of files.names) await pipeline(files.open(name), createWriteStream(join(folder, name)));
files.close();

const startedMs = performance.now();
const before = process.cpuUsage();
using sets = await openSetEngine({ folder });
const csv = (name: string): string =>
  `read_csv('${join(folder, `${name}.csv`)}', header = true, auto_detect = false, all_varchar = true, columns = ${columns[name]})`;
const columnsOf = (...names: string[]): string =>
  `{${names.map((name) => `'${name}': 'VARCHAR'`).join(', ')}}`;
const shared = ['sourcedId', 'status', 'dateLastModified'];
const columns: Record<string, string> = {
  users: columnsOf(...shared, 'enabledUser', 'username', 'givenName', 'familyName'),
  classes: columnsOf(...shared, 'title', 'classCode', 'classType'),
  lineItems: columnsOf(...shared, 'title', 'class', 'min', 'max'),
  enrollments: columnsOf(...shared, 'class', 'school', 'usr', 'role', 'isPrimary', 'begins', 'ends'),
  results: columnsOf(...shared, 'item', 'usr', 'scoreStatus', 'score', 'day', 'comment'),
};
for (const name of ['users', 'classes', 'lineItems'])
  await sets.run(`CREATE TABLE ${name} AS FROM ${csv(name)}`);
await sets.run(`CREATE TABLE wanted AS
  SELECT 'e/' || c.classCode || '/' || u.username AS key, e.role AS value, c.classCode AS org, u.username AS usr, NULL AS title, e.sourcedId AS row
  FROM ${csv('enrollments')} e JOIN classes c ON c.sourcedId = e.class JOIN users u ON u.sourcedId = e.usr
  UNION ALL
  SELECT 'g/' || i.sourcedId || '/' || u.username, concat_ws('/', r.score, r.comment), c.classCode, u.username, i.title, r.sourcedId
  FROM ${csv('results')} r JOIN lineItems i ON i.sourcedId = r.item JOIN classes c ON c.sourcedId = i.class
    JOIN users u ON u.sourcedId = r.usr`);
const state = join(folder, 'bare.parquet');
await sets.run(
  existsSync(state) ? `CREATE VIEW was AS FROM '${state}'` : 'CREATE VIEW was AS FROM wanted LIMIT 0',
);
await sets.run(`COPY (
    SELECT to_json({'id': left(sha256(coalesce(w.key, b.key)), 20), 'time': '2026-10-01T00:00:00.000Z', 'org': w.org, 'user': w.usr,
      'title': w.title, 'value': w.value}) AS event
    FROM wanted w FULL JOIN was b ON b.key = w.key WHERE w.value IS DISTINCT FROM b.value ORDER BY coalesce(w.key, b.key)
  ) TO '${join(folder, 'bare.lines')}' (FORMAT csv, DELIMITER '\t', QUOTE '', ESCAPE '', HEADER false)`);
await sets.run(`COPY wanted TO '${state}.new' (FORMAT parquet, COMPRESSION zstd)`);
await rename(`${state}.new`, state);
const { user, system } = process.cpuUsage(before);
process.stdout.write(
  JSON.stringify({
    seconds: (performance.now() - startedMs) / 1_000,
    cpuSeconds: (user + system) / 1e6,
  }),
);
