import { plain } from '../../runtime/privacy/printable.ts';
import { type AuditedCommand, type AuditLog, leftOutTexts } from '../../stage/audit-log.ts';
import { valueText } from './filter-options.ts';
import { countOf, numberOf } from './format.ts';
import { type Columns, table, text, type View } from './view.ts';

/** What a command was about, as in `grades.csv, function grade-push`. */
export const aboutText = ({ command, file, secret, filter = {}, meant, did }: AuditedCommand): string => {
  const [first, ...others] = meant.union(did);
  const letters =
    first === undefined || others.length === 0
      ? (first ?? '').slice(0, 8)
      : countOf(others.length + 1, command.startsWith('letters') ? 'letter' : 'message');
  const target = [file, secret, filterText(filter)].filter(Boolean).join(', ');
  return plain(target || letters || 'everything');
};

/** `kind rejected, cause 1f2e3d4c 5a6b7c8d`. */
const filterText = (filter: object): string =>
  Object.entries(filter)
    .map(([name, value]) => (name === 'id' ? idsText(value) : `${wordsOf(name)} ${valueText(name, value)}`))
    .join(', ');

const idsText = (ids: unknown): string =>
  Array.isArray(ids) && ids.length > 1 ? countOf(ids.length, 'letter') : `id ${String(ids).slice(0, 8)}`;

/** `sent 2, came back 1`. */
export const countsText = ({ counts, endedAt }: AuditedCommand): string => {
  const countTexts = Object.entries(counts).flatMap(([name, count]) =>
    count > 0 ? `${wordsOf(name)} ${numberOf(count)}` : [],
  );
  return `${countTexts.join(', ') || 'nothing'}${endedAt === undefined ? ' (did not finish)' : ''}`;
};

/** `cameBack` is `came back`. */
const wordsOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Whole in the last column: what was done, to what, with which result, and why. */
const columns: Columns<AuditedCommand> = {
  When: ({ at }) => `${at.slice(0, 16).replace('T', ' ')}`,
  Who: ({ who }) => plain(who),
  What: (each) => ({
    text: plain(
      `${each.command}, ${aboutText(each)}: ${countsText(each)}${each.why === undefined ? '' : ` “${each.why}”`}`,
    ),
    isWhole: true,
  }),
};

export const logNotes = (log: AuditLog): View => [
  !log.isWhole && {
    tone: 'warn',
    text: 'The log is too long to be read completely. These are its newest days.',
  },
  ...leftOutTexts(log).map((why) => ({ tone: 'bad' as const, text: `The audit log: ${why}.` })),
];

/** On a terminal. */
export const logView = (log: AuditLog, limit: number): View => {
  const { length } = log.commands;
  return [
    ...logNotes(log),
    table('What was done', log.commands.slice(0, limit), columns, { empty: 'Nothing was done.' }),
    length > limit
      ? { more: `The newest ${numberOf(limit)} of ${numberOf(length)}` }
      : length > 0 && text(`${countOf(length, 'command')}. Times are in UTC.`),
  ];
};
