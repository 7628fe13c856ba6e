import type { LetterDetails } from '../../dead-letters/reading/show.ts';
import { replayedOften } from '../../desk/letter-kinds.ts';
import { plain } from '../../redaction/printable.ts';
import { ageOf } from '../../views/amounts.ts';
import { whatHappened } from '../../views/letters.ts';
import { wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

const labelWidth = 16;

export const letterDetailLines = (details: LetterDetails, { style, width }: Terminal): string[] => {
  const { failure, history } = details;
  const field = (label: string, value: string | number | undefined): string[] => {
    if (value === undefined || value === '') return [];
    const lines = wrapped(plain(String(value)), width - labelWidth);
    return lines.map((line, at) => style('dim', (at === 0 ? label : '').padEnd(labelWidth)) + line);
  };
  const ageAt = (time: string | undefined) =>
    time === undefined ? undefined : `${time} (${ageOf(Date.parse(time))} ago)`;
  const answer = [failure?.status, failure?.title].filter((each) => each !== undefined).join(' ');
  return [
    style('bold', `Letter ${details.id}`),
    '',
    ...field('Function', details.function),
    ...field('Kind', details.kind),
    ...field('What happened', whatHappened(details)),
    ...field('What to do', details.remedy).map((line) => style('green', line)),
    '',
    ...field('Call', failure?.operation),
    ...field('Answer', answer),
    ...field('In its words', failure?.detail),
    ...field('Problem type', failure?.type),
    ...field('It requires', failure?.required),
    ...field('Request id', failure?.requestId),
    ...field('Attempts', failure?.attempts),
    ...field('First attempt', ageAt(failure?.firstAt)),
    ...field('Last attempt', ageAt(failure?.lastAt)),
    ...field('Letter since', ageAt(details.sentAt)),
    ...field(
      'Replays',
      details.replays >= replayedOften
        ? `${details.replays}: find the cause before you replay it again`
        : details.replays,
    ),
    ...field('From', details.source),
    ...field('Original try', ageAt(history?.firstAt)),
    ...(history?.deeds ?? []).flatMap(({ what, at, by, why, kind, original }) =>
      field(
        what === 'edited' ? 'Edited' : 'Replayed',
        `${at} by ${by}, then ${kind}${why === undefined ? '' : `: ${why}`}${original === undefined ? '' : ` (original: ${original})`}`,
      ),
    ),
    ...Object.entries(details.attributes).flatMap(([name, value]) => field('Attribute', `${name}: ${value}`)),
    '',
    style('dim', details.revealed ? 'Message' : `Message, without personal data (--reveal shows it)`),
    ...messageLines(details.message),
  ];
};

const messageLines = (message: unknown): string[] =>
  (typeof message === 'string' ? message : JSON.stringify(message, null, 2))
    .split('\n')
    .map((line) => `  ${plain(line)}`);
