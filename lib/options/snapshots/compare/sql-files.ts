import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The text of a file in `sql`. In a bundle, packaging puts the texts in place of this module. */
export const sqlFile = (name: string): string | undefined =>
  readFileSync(join(import.meta.dirname, 'sql', `${name}.sql`), 'utf8');
