import { eventIn } from '../../../message/envelope.ts';
import type { Integrations } from '../../../stage/integrations.ts';
import { functionOf } from './event-body.ts';
import type { PublishResult } from './publish.ts';
import { openRows, type Source } from './rows.ts';

/** An invalid row: its cells by column, and the problems by column if they concern one. */
export type BadRow = {
  line: number;
  problem: string;
  cells: Map<string, string>;
  wrong: Map<string, string>;
};

type BadRowsOptions = Pick<PublishResult, 'problems'> & { limit: number; integrations: Integrations };

/** Reads the first rows that the check of a file reported, with their cells. */
export const badRows = async (
  source: Source,
  { problems, limit, integrations }: BadRowsOptions,
): Promise<BadRow[]> => {
  const byLine = new Map(problems.slice(0, limit).map(({ line, problem }) => [line, problem]));
  const found: BadRow[] = [];
  const rows = await openRows(source, integrations);
  for await (const { line, body = '' } of rows()) {
    if (found.length === byLine.size) break;
    const problem = byLine.get(line);
    if (problem !== undefined)
      found.push({ line, problem, cells: cellsIn(body), wrong: columnsNamedIn(problem) });
  }
  return found;
};

/** A valid row: the fields of its message. */
export type GoodRow = { line: number; function: string; cells: Map<string, string> };

/** Reads the first rows of which the check of a file reported no problem, as far as it reported all problems. */
export const goodRows = async (
  source: Source,
  { problems, invalid, limit, integrations }: BadRowsOptions & Pick<PublishResult, 'invalid'>,
): Promise<GoodRow[]> => {
  const bad = new Set(problems.map(({ line }) => line));
  const lastKnown = problems.length < invalid ? (problems.at(-1)?.line ?? 0) : Number.POSITIVE_INFINITY;
  const found: GoodRow[] = [];
  const rows = await openRows(source, integrations);
  for await (const { line, body } of rows()) {
    if (line > lastKnown || found.length >= limit) break;
    if (body === undefined || bad.has(line)) continue;
    const { type } = (eventIn(body) ?? {}) as { type?: unknown };
    found.push({ line, function: functionOf(type), cells: cellsIn(body) });
  }
  return found;
};

/** `data.grade.points: must be …; data.userId: …`, by column. */
const columnsNamedIn = (problem: string): Map<string, string> =>
  new Map(
    [...problem.matchAll(/(?:^|[;,] )(?:data\.)?([\w.[\]]+): ([^;]+)/g)].map(([, name = '', text = '']) => [
      name.replace(/\[(\d+)\]/g, '.$1'),
      text,
    ]),
  );

const cellsIn = (body: string): Map<string, string> => {
  const cells = new Map<string, string>();
  const collect = (value: unknown, path: string): void => {
    if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value)) collect(each, path === '' ? name : `${path}.${name}`);
    else if (path !== '') cells.set(path, String(value));
  };
  collect((eventIn(body) as { data?: unknown } | undefined)?.data ?? {}, '');
  return cells;
};
