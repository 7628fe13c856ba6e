import type { MovedCodes, ShownName } from '../../crosswalk/names/names.ts';
import { plain } from '../../redaction/printable.ts';
import { ageOf } from '../../views/amounts.ts';
import { rest, right, tableOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

const sourceText = { platform: 'the platform', file: 'the file in crosswalk/' } as const;

const idsText = (ids: readonly number[]): string => ids.join(' and ');

export const nameLines = (shown: readonly ShownName[], { width }: Terminal): string[] => {
  if (shown.length === 0)
    return ['The crosswalk does not know this name. Names are exact, upper and lower case included.'];
  return shown.flatMap((each) => wrapped(plain(nameText(each)), width, '  '));
};

const nameText = ({ name, source, ids, was, accepted, writtenMs, filled }: ShownName): string => {
  const stands = `${name} stands for ${idsText(ids)}, according to ${sourceText[source]}`;
  const changed = writtenMs === undefined ? '' : `, unchanged for ${ageOf(writtenMs)} or longer`;
  const checked = filled === undefined ? '' : `, checked ${ageOf(filled.filledMs)} ago`;
  const ambiguous = ids.length > 1 ? ' It is ambiguous: messages with it are parked.' : '';
  const moved =
    accepted === undefined
      ? ''
      : ` Before, it stood for ${idsText(was ?? [])}. ${accepted ? 'This move is accepted' : 'Messages with it are parked until a person accepts this move'}.`;
  return `${stands}${changed}${checked}.${ambiguous}${moved}`;
};

const untoldText = (source: keyof typeof sourceText): string =>
  `No fill of the crosswalk from ${sourceText[source]} has reported moves yet, or you may not read crosswalk-state/ in the bucket.`;

export const movedLines = ({ moved, untold }: MovedCodes, { width, style, command }: Terminal): string[] => {
  const missing = untold.flatMap((source) => wrapped(untoldText(source), width, '  '));
  if (moved.length === 0 && missing.length > 0) return missing;
  if (moved.length === 0) return ['No move of a code to another org unit waits to be accepted.'];
  const [header = '', ...rows] = tableOf(
    [rest('Code'), right('Was'), right('Is'), right('Age'), 'By'],
    moved.map(({ code, ids, was, sinceMs, source }) => [
      ...[plain(code), idsText(was), idsText(ids), ageOf(sinceMs)],
      source,
    ]),
    width,
  );
  return [
    style('dim', header),
    ...rows,
    '',
    ...wrapped(
      `Messages with these codes are parked. Accept one: ${command('crosswalk accept <code>')}`,
      width,
    ),
    ...missing,
  ];
};

export const acceptQuestion = ({ name, ids, was = [] }: ShownName): string =>
  `${plain(name)} stood for org unit ${idsText(was)}, and now stands for ${idsText(ids)}. Accept this move?`;

export const acceptedLines = ({ name, ids }: ShownName, { width, command }: Terminal): string[] =>
  wrapped(
    `${plain(name)} stands for org unit ${idsText(ids)} from now on. To replay the letters with it: ${command('letters replay --kind ambiguous-id')}`,
    width,
  );
