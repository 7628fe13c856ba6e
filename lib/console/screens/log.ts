import { listArchives } from '../../dead-letters/archives.ts';
import { importLetters, linesOf, objectInput } from '../../dead-letters/import.ts';
import { type AuditedCommand, readAuditLog } from '../../deployment/audit-log.ts';
import { RefusedError } from '../../deployment/command-errors.ts';
import { type Html, href, html, said } from '../../markup/html.ts';
import { notes } from '../../markup/notes.ts';
import { table } from '../../markup/table.ts';
import { countOf, numberOf } from '../../wording/amounts.ts';
import { timeText } from '../../wording/trace.ts';
import { type App, type Desk, formOf, queryOf, render } from '../desk.ts';
import { button } from '../page.ts';

const dayMs = 24 * 3_600_000;
const maxShown = 500;

export const addLog = (app: App, desk: Desk): void => {
  const { target, audit, runs, readOnly } = desk;
  app.get('/log', async (context) => {
    const days = Math.min(90, Math.max(1, Math.floor(Number(queryOf(context).get('days')) || 7)));
    const options = { sinceMs: Date.now() - days * dayMs, signal: context.req.raw.signal };
    const [log, { archives }] = await Promise.all([
      readAuditLog(target, options),
      listArchives(target, options),
    ]);
    return render(
      desk,
      context,
      'Log',
      html`<form method="get" class="filter"><label>Days back <input name="days" value="${days}" inputmode="numeric"></label><button>Show</button></form>
<section><h2>What was done</h2>${log.isWhole ? '' : html`<p class="warn">The log is too long to be read whole: these are its newest days.</p>`}${commandTable(log.commands.slice(0, maxShown))}</section>
<section><h2>Archives</h2><p>What was discarded, and what edited letters were before.</p>${table(
        'Archives',
        [
          { title: 'When', cell: ({ at }) => timeText(at) },
          { title: 'What', cell: ({ what }) => what },
          { title: 'Address', cell: ({ address }) => html`<code>${address}</code>` },
          { title: 'Bytes', isNumber: true, cell: ({ bytes }) => numberOf(bytes) },
          {
            title: 'Restore',
            cell: ({ address, what }) =>
              readOnly || what !== 'discarded' ? '' : button('/restore', 'Restore', { address }),
          },
        ],
        archives.slice(0, maxShown),
        'Nothing was archived.',
      )}</section>`,
    );
  });

  app.post('/restore', async (context) => {
    const address = (await formOf(context)).get('address') ?? '';
    const bucket = await target.bucket();
    const input = objectInput(address, target);
    if (input === undefined || !address.startsWith(`s3://${bucket}/discarded/`) || address.includes('/../'))
      throw new RefusedError('Only what lies under discarded/ in the bucket of this deployment is restored.');
    const run = runs.begin('Restore', async (at) => {
      const importing = (dryRun: boolean) =>
        importLetters(target, {
          ...{ lines: () => linesOf(input), dryRun, audit, signal: at.signal },
          onOutdated: (outdated) =>
            at.show(
              'outdated',
              notes([
                {
                  tone: 'warn',
                  text: `${countOf(outdated.length, 'message is', 'messages are')} so old that a replay could put the old in the place of what is newer. Look on the platform before you replay them.`,
                },
              ]),
            ),
          onSent: at.progress('Restored'),
        });
      const { letters, stillLetters = 0, problems } = await importing(true);
      const left = letters - stillLetters;
      const said = `${countOf(letters, 'letter')}; ${numberOf(stillLetters)} of them are letters still, or again, and are left out.`;
      at.show('plan', html`<h2>Plan</h2><p>${said}</p>${problemsOf(problems)}`);
      if (left === 0 || problems.length > 0) return;
      if (!(await at.ask({ text: '', act: `Restore ${countOf(left, 'letter')}` }))) return;
      const { imported, problems: failed } = await importing(false);
      at.show(
        'result',
        html`<h2>Result</h2><p>${countOf(imported, 'letter')} restored.</p>${problemsOf(failed)}`,
      );
    });
    return context.redirect(`/runs/${run.id}`, 303);
  });
};

const problemsOf = (problems: readonly { line: number; problem: string }[]): Html =>
  notes(
    problems.slice(0, 50).map(({ line, problem }) => ({ tone: 'bad', text: `line ${line}: ${problem}` })),
  );

const commandTable = (commands: readonly AuditedCommand[]): Html =>
  table(
    'What was done',
    [
      { title: 'When', cell: ({ at }) => timeText(at) },
      { title: 'Who', cell: ({ who }) => said(who) },
      { title: 'What', cell: ({ command }) => said(command) },
      { title: 'Why', cell: ({ why }) => said(why ?? '–') },
      {
        title: 'Counts',
        cell: ({ counts, endedAt }) =>
          `${Object.entries(counts)
            .map(([name, count]) => `${name} ${numberOf(count)}`)
            .join(', ')}${endedAt === undefined ? ' (came to no end)' : ''}`,
      },
      {
        title: 'Letters',
        cell: ({ meant, did }) => {
          const ids = [...meant.union(did)];
          return ids.length === 0
            ? '–'
            : html`${ids.slice(0, 3).map((id) => html`<a href="${href('/trace', { id })}">${id.slice(0, 8)}</a> `)}${ids.length > 3 ? `and ${numberOf(ids.length - 3)} more` : ''}`;
        },
      },
    ],
    commands,
    'Nothing was done.',
  );
