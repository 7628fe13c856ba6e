import { numberOf } from '../../views/format.ts';
import type { Terminal } from './terminal.ts';

/** Shows `Reading letters 1,200 of about 3,000`. */
export type Progress = (done: number, of: number) => void;

/** Shows progress: on a terminal in one line that is overwritten, elsewhere in a line every ten seconds. */
export const createProgress = (terminal: Terminal, what: string): Progress => {
  const betweenMs = terminal.isLive ? 100 : 10_000;
  let shownMs = Date.now();
  return (done, of) => {
    const nowMs = Date.now();
    if (nowMs - shownMs < betweenMs) return;
    shownMs = nowMs;
    const text = `${what} ${numberOf(done)} of about ${numberOf(of)}`;
    if (terminal.isLive) terminal.line(text);
    else terminal.err(`${text}\n`);
  };
};

const cells = 30;

/** `Comparing  [============                  ]  42 %`, only on a terminal. The shown share never falls. */
export const createBar = (
  terminal: Pick<Terminal, 'isLive' | 'line'>,
  what: string,
): ((share: number) => void) => {
  let shown = -1;
  return (share) => {
    const percent = Math.floor(100 * Math.min(1, Math.max(0, share)));
    if (!terminal.isLive || percent <= shown) return;
    shown = percent;
    const done = Math.round((cells * percent) / 100);
    terminal.line(`${what}  [${'='.repeat(done).padEnd(cells)}] ${String(percent).padStart(3)} %`);
  };
};
