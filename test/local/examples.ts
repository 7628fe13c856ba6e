import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../events');

/** The example event of a function. */
export async function eventOf(name: string) {
  return JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8'));
}

/** What its example event carries, as the SIS would have said it an hour ago: what is too old, nobody sends. */
export async function example(name: string): Promise<string> {
  const message = JSON.parse((await eventOf(name)).Records[0].body);
  return JSON.stringify({ ...message, time: new Date(Date.now() - 3_600_000).toISOString() });
}
