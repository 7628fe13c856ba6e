import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { writePart } from '../../documents.ts';
import { optionsOf } from '../../options.ts';

/** A line of a terminal, with its colours as escape sequences, and when it was printed. */
type Line = { atMs: number; text: string };

const columns = 112;
const rows = 24;
const lineHeight = 17;
const columnWidth = 7.25;
const padding = 12;
/** A reader follows lines that are printed at once, and nobody waits for a message that waits for ten seconds. */
const gapMs = { min: 130, max: 900 };
const lastScreenMs = 8_000;

const classes: Record<string, string> = { 1: 'b', 2: 'd', 31: 'r', 32: 'g', 33: 'y', 36: 'c' };

/** What was printed as a picture that plays: CSS alone, for light and dark pages, and still for those who want no motion. */
function recordingOf(lines: Line[]): string {
  const at = timesOf(lines);
  const totalMs = (at.at(-1) ?? 0) + lastScreenMs;
  const frames = at.map((ms, index) => ({ percent: ((100 * ms) / totalMs).toFixed(2), shown: index + 1 }));
  const scrolled = (shown: number) => -Math.max(0, shown - rows) * lineHeight;
  const covered = (shown: number) => Math.min(rows, shown) * lineHeight;
  const keyframes = (name: string, yOf: (shown: number) => number) =>
    `@keyframes ${name}{${[{ percent: '0', shown: 0 }, ...frames]
      .filter(({ shown }, index) => index === 0 || yOf(shown) !== yOf(shown - 1))
      .map(({ percent, shown }) => `${percent}%{transform:translateY(${yOf(shown)}px)}`)
      .join('')}100%{transform:translateY(${yOf(lines.length)}px)}}`;
  const width = Math.ceil(columns * columnWidth) + 2 * padding;
  const height = rows * lineHeight + 2 * padding;
  const timing = `${(totalMs / 1000).toFixed(1)}s step-end infinite`;
  const texts = lines.flatMap(({ text }, index) =>
    text === '' ? [] : [`<text y="${index * lineHeight + 13}">${markedUp(text)}</text>`],
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>npm start: messages and faults, each with its outcome</title>
<style>
svg{--ground:#fff;--ink:#1f2328;--dim:#59636e;--red:#b3141d;--green:#116329;--yellow:#7d4e00;--cyan:#0b5a7a;--edge:#d1d9e0}
@media(prefers-color-scheme:dark){svg{--ground:#0d1117;--ink:#e6edf3;--dim:#9198a1;--red:#ff7b72;--green:#56d364;--yellow:#e3b341;--cyan:#76d9ff;--edge:#3d444d}}
rect{fill:var(--ground)}.edge{stroke:var(--edge)}
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--ink);white-space:pre}
.b{font-weight:bold}.d{fill:var(--dim)}.r{fill:var(--red)}.g{fill:var(--green)}.y{fill:var(--yellow)}.c{fill:var(--cyan)}
.lines{animation:scroll ${timing};transform:translateY(${scrolled(lines.length)}px)}
.cover{animation:cover ${timing};transform:translateY(${covered(lines.length)}px)}
${keyframes('scroll', scrolled)}
${keyframes('cover', covered)}
@media(prefers-reduced-motion:reduce){.lines,.cover{animation:none}}
</style>
<rect class="edge" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="6"/>
<svg x="${padding}" y="${padding}" width="${width - 2 * padding}" height="${rows * lineHeight}">
<g class="lines">
${texts.join('\n')}
</g>
<rect class="cover" width="${width}" height="${rows * lineHeight}"/>
</svg>
</svg>
`;
}

/** What the README says of the run that was recorded. */
export function sentenceOf(picture: string): string {
  const [, count, seconds] = /✓ (\d+) of \1 scenarios ended as they must, in ([\d.]+) s/.exec(picture) ?? [];
  return `It plays ${count} scenarios, and took ${Math.round(Number(seconds))} s when this recording was made:\n`;
}

/** When each line is shown: as it was printed, but that no wait is long and no line comes too soon. */
function timesOf(lines: Line[]): number[] {
  let shownMs = 0;
  let printedMs = lines[0]?.atMs ?? 0;
  return lines.map(({ atMs, text }, index) => {
    // An empty line comes with the one before it.
    if (index === 0 || text === '') return shownMs;
    shownMs += Math.min(gapMs.max, Math.max(gapMs.min, atMs - printedMs));
    printedMs = atMs;
    return shownMs;
  });
}

/** Escape sequences as elements. Only whole words have them here, and none within another. */
function markedUp(text: string): string {
  const escapeCharacter = String.fromCharCode(27);
  return text
    .split(escapeCharacter)
    .map((part, index) => {
      if (index === 0) return escaped(part);
      const [, code = '', rest = ''] = /^\[(\d+)m(.*)$/s.exec(part) ?? [];
      const name = classes[code];
      return name === undefined || rest === ''
        ? escaped(rest)
        : `<tspan class="${name}">${escaped(rest)}</tspan>`;
    })
    .join('');
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** `npm run record`: plays `npm start` as on a terminal of this width, draws what it prints, and says in the README how long it took. */
export async function command(args: string[]): Promise<void> {
  optionsOf({}, { usage: '`npm run record` takes no options.', args });
  const asTerminal = `data:text/javascript,process.stdout.isTTY=true;process.stdout.columns=${columns}`;
  const child = spawn(process.execPath, ['--import', asTerminal, join(import.meta.dirname, 'start.ts')], {
    env: { ...process.env, FORCE_COLOR: '1', NO_COLOR: undefined },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const lines: Line[] = [{ atMs: performance.now(), text: '$ npm start' }];
  for await (const text of createInterface(child.stdout)) {
    lines.push({ atMs: performance.now(), text });
    process.stdout.write(`${text}\n`);
  }
  const [status] = await ended;
  if (status === 0) {
    const picture = recordingOf(lines);
    writeFileSync(join(import.meta.dirname, 'start.svg'), picture);
    writePart('start', sentenceOf(picture));
  }
  process.exitCode = status ?? 1;
}
