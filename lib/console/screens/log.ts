import { type Archive, listArchives } from '../../dead-letters/archives.ts';
import { type Imported, importLetters, linesOf, objectInput } from '../../dead-letters/import.ts';
import { type AuditedCommand, readAuditLog } from '../../deployment/audit-log.ts';
import { RefusedError } from '../../deployment/command-errors.ts';
import { button, textField } from '../../markup/forms.ts';
import { type Html, html, notes, said } from '../../markup/html.ts';
import { table } from '../../markup/table.ts';
import { countOf, numberOf } from '../../views/amounts.ts';
import { timeText } from '../../views/trace.ts';
import { addScreen, addVerb, type Desk } from '../desk.ts';
import { traceLink } from './cells.ts';

const dayMs = 24 * 3_600_000;
const maxShown = 500;

export const addLog = (desk: Desk): void => {
  const { target, audit, runs, readOnly } = desk;
  addScreen(desk, ['/log', 'Log'], async (query, context) => {
    const days = Math.min(90, Math.max(1, Math.floor(Number(query.get('days')) || 7)));
    const options = { sinceMs: Date.now() - days * dayMs, signal: context.req.raw.signal };
    const reads = [readAuditLog(target, options), listArchives(target, options)] as const;
    const [log, { archives }] = await Promise.all(reads);
    return html`<form method="get" class="filter">${textField('days', 'Days back', { value: days })}<button>Show</button></form>
<section><h2>What was done</h2>${log.isWhole ? '' : html`<p class="warn">The log is too long to be read completely. These are its newest days.</p>`}${commandTable(log.commands.slice(0, maxShown))}</section>
<section><h2>Archives</h2><p>What was discarded, and what edited letters were before.</p>${archiveTable(archives.slice(0, maxShown), readOnly)}</section>`;
  });

  addVerb(desk, '/restore', async (form) => {
    const address = form.get('address') ?? '';
    const input = objectInput(address, target);
    const isArchive =
      address.startsWith(`s3://${await target.bucket()}/discarded/`) && !address.includes('/../');
    if (input === undefined || !isArchive)
      throw new RefusedError('Only files under discarded/ in the bucket of this deployment can be restored.');
    return runs.begin('Restore', async (at) => {
      let old = 0;
      const onSent = at.progress('Restored');
      const importing = (dryRun: boolean): Promise<Imported> =>
        importLetters(target, {
          ...{ lines: () => linesOf(input), dryRun, audit, signal: at.signal, onSent },
          onOutdated: ({ length }) => {
            old = length;
          },
        });
      const { letters, stillLetters = 0, problems } = await importing(true);
      const left = letters - stillLetters;
      at.show(
        'Plan',
        html`<p>${countOf(letters, 'letter')}; ${stillLetters > 0 ? `${numberOf(stillLetters)} of them are in the queue already, and are left out.` : ''} ${left === 0 ? 'There is nothing to restore.' : ''}</p>
${old > 0 ? html`<p class="warn">${countOf(old, 'message is', 'messages are')} so old that a replay could overwrite newer data. Check the platform before you replay them.</p>` : ''}${problemsOf(problems)}`,
      );
      if (left === 0 || problems.length > 0) return;
      if (!(await at.ask({ text: 'Put them back?', act: `Restore ${countOf(left, 'letter')}` }))) return;
      const { imported, problems: failed } = await importing(false);
      at.show('Result', html`<p>${countOf(imported, 'letter')} restored.</p>${problemsOf(failed)}`);
    });
  });
};

const problemsOf = (problems: Imported['problems']): Html =>
  notes(problems.slice(0, 50).map(({ line, problem }) => ({ tone: 'bad', text: `${line}: ${problem}` })));

const archiveTable = (archives: readonly Archive[], readOnly: boolean): Html =>
  table(
    'Archives',
    archives,
    {
      When: ({ at }) => timeText(at),
      What: ({ what }) => what,
      Address: ({ address }) => html`<code>${said(address)}</code>`,
      Bytes: ({ bytes }) => bytes,
      Restore: ({ address, what }) =>
        readOnly || what !== 'discarded' ? '' : button('/restore', 'Restore', { address }),
    },
    { empty: 'Nothing was archived.' },
  );

const commandTable = (commands: readonly AuditedCommand[]): Html =>
  table(
    'What was done',
    commands,
    {
      When: ({ at }) => timeText(at),
      Who: ({ who }) => said(who),
      What: ({ command }) => said(command),
      Why: ({ why }) => said(why ?? '–'),
      Counts: ({ counts, endedAt }) =>
        `${Object.entries(counts)
          .map(([name, count]) => `${name} ${numberOf(count)}`)
          .join(', ')}${endedAt === undefined ? ' (did not finish)' : ''}`,
      Letters: ({ meant, did }) => {
        const ids = [...meant.union(did)];
        const more = ids.length > 3 ? `and ${numberOf(ids.length - 3)} more` : '';
        return html`${ids.slice(0, 3).map((id) => html`${traceLink(id)} `)}${more}`;
      },
    },
    { empty: 'Nothing was done.' },
  );
