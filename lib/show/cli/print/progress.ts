import { numberOf } from '../../views/amounts.ts';
import { clearLine, type Terminal } from './terminal.ts';

export type Progress = {
  /** `Reading letters 1,200 of about 3,000`. */
  show(done: number, of: number): void;
  /** Leaves no trace on a terminal. */
  end(): void;
};

/** Shows progress: on a terminal in one line that is overwritten, elsewhere in a line every ten seconds. */
export const createProgress = (terminal: Terminal, what: string): Progress => {
  const betweenMs = terminal.isLive ? 100 : 10_000;
  let shownMs = Date.now();
  let isShown = false;
  return {
    show: (done, of) => {
      const nowMs = Date.now();
      if (nowMs - shownMs < betweenMs) return;
      shownMs = nowMs;
      isShown = true;
      const text = `${what} ${numberOf(done)} of about ${numberOf(of)}`;
      terminal.err(terminal.isLive ? `${clearLine}${text}` : `${text}\n`);
    },
    end: () => {
      if (isShown && terminal.isLive) terminal.err(clearLine);
      isShown = false;
    },
  };
};

const cells = 30;

/** `Comparing  [============                  ]  42 %`, only on a terminal. The shown share never falls. */
export const createBar = (
  terminal: Pick<Terminal, 'isLive' | 'err'>,
  what: string,
): { show(share: number): void; end(): void } => {
  let shown = -1;
  return {
    show: (share) => {
      const percent = Math.floor(100 * Math.min(1, Math.max(0, share)));
      if (!terminal.isLive || percent <= shown) return;
      shown = percent;
      const done = Math.round((cells * percent) / 100);
      terminal.err(
        `${clearLine}${what}  [${'='.repeat(done).padEnd(cells)}] ${String(percent).padStart(3)} %`,
      );
    },
    end: () => {
      if (shown >= 0) terminal.err(clearLine);
    },
  };
};
