import { countOf, numberOf } from '../../../../desk/views/format.ts';
import { type Block, list, part, section, type View } from '../../../../desk/views/view.ts';
import { plain } from '../../../../runtime/privacy/printable.ts';
import type { Refusal } from '../../state/record.ts';
import type { RefusedRow, ShownSnapshot } from '../read.ts';

/** A problem that is told once for all rows counts them itself, and has no line. */
export const refusalText = ({ file, line, column, problem, rows }: Refusal): string => {
  const where = [file, line && `${rows > 1 ? 'first in ' : ''}line ${line}`, column].filter(Boolean);
  const count = rows > 1 && line !== '' ? ` (${countOf(rows, 'row')})` : '';
  return `${where.map(plain).join(', ')}: ${plain(problem)}${count}`;
};

/** `users.csv, line 12, username: …`, of a record of version 1.0. */
const refusedRowText = ({ file, line, column, problem }: RefusedRow): string =>
  [[file, line && `line ${line}`, column].filter(Boolean).map(plain).join(', '), plain(problem)]
    .filter(Boolean)
    .join(': ');

type Refused = Pick<ShownSnapshot, 'refusedRows' | 'refusals' | 'counts'>;

export const refusedSection = ({ refusedRows, refusals, counts }: Refused, ...after: View): Block => {
  if (refusedRows.length === 0) return part();
  const isAll = refusedRows.length >= counts.refused;
  const title = `Rows that were not used${isAll ? '' : `, ${numberOf(counts.refused)} in all`}:`;
  const texts = refusals?.map(refusalText) ?? refusedRows.map(refusedRowText);
  return section(title, list(texts), ...after);
};
