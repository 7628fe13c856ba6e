import { type Kind, kinds, type Verdict } from './chaos-messages.ts';

/** By what is counted. */
export type Counts = Record<string, Record<Kind, number>>;

export type ChaosResult = {
  counts: Counts;
  /** After the storm, and again when a person has replayed what need not lie there. */
  verdicts: Verdict[];
  kills: number;
  outages: string[];
  letters: { id: string; kind: string; message: string }[];
  /** Letters that remain though nothing is wrong with their messages, and wrong messages without a letter. */
  unexpected: string[];
  seconds: number;
};

/** Whether all is well. */
export const isWell = ({ verdicts, unexpected }: ChaosResult): boolean =>
  unexpected.length === 0 &&
  verdicts.every(({ lost, stale, twice }) => lost.length + stale.length + twice.length === 0);

/** The counts as lines of a table, and every letter. */
export function tableOf(result: ChaosResult): string[] {
  const { counts, verdicts, letters } = result;
  const row = (title: string, cells: (string | number)[]) =>
    title.padEnd(24) + cells.map((cell) => String(cell).padStart(22)).join('');
  const kindsOfLetters = Map.groupBy(letters, ({ kind, message }) => `${kind}: ${withoutIds(message)}`);
  const sum = (of: keyof Verdict) => verdicts.map((verdict) => verdict[of].length).join(', then ');
  return [
    row('', [...kinds]),
    ...Object.entries(counts).map(([title, cells]) =>
      row(
        title,
        kinds.map((kind) => cells[kind]),
      ),
    ),
    '',
    ...[...kindsOfLetters].map(([what, those]) => `${String(those.length).padStart(5)} × ${what}`),
    '',
    `${result.kills} processes killed, ${result.outages.length} outages, ${result.seconds.toFixed(0)} s`,
    `lost ${sum('lost')} · stale ${sum('stale')} · twice ${sum('twice')}`,
    ...result.unexpected,
    ...verdicts.flatMap(({ lost, stale, twice }) => [
      ...lost.map((id) => `lost: ${id}`),
      ...stale.map((id) => `stale: ${id}`),
      ...twice.map((id) => `twice: ${id}`),
    ]),
  ];
}

const withoutIds = (text: string): string => text.replace(/\d{2,}/g, '…');
