import { type AuditedCommand, readAuditLog } from '../../../stage/audit-log.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import { mayRole } from '../../../stage/roles.ts';
import { type Archive, listArchives } from '../../messages/archive/archives.ts';
import { objectInput } from '../../messages/archive/import.ts';
import { numberOf } from '../../views/format.ts';
import { traceLink } from '../../views/letters.ts';
import { aboutText, countsText, logNotes } from '../../views/log.ts';
import { timeText } from '../../views/trace.ts';
import { type Block, type Columns, href, section, table, text, type View } from '../../views/view.ts';
import { addAction, addScreen, type ConsoleServices, htmlOf, offered } from '../console-services.ts';
import { html } from '../html/html.ts';
import { pageOf, pager } from '../pages.ts';
import { beginImport } from './transfer.ts';

const dayMs = 24 * 3_600_000;

export const addLog = (services: ConsoleServices): void => {
  const { target } = services;
  addScreen(services, ['/log', 'Log'], async (query, context) => {
    const days = Math.min(90, Math.max(1, Math.floor(Number(query.get('days')) || 7)));
    const options = { sinceMs: Date.now() - days * dayMs, signal: context.req.raw.signal };
    const reads = [readAuditLog(target, options), listArchives(target, options)] as const;
    const [log, archives] = await Promise.all(reads);
    const page = <Row>(name: string, rows: readonly Row[]) => {
      const paged = pageOf(rows, query.get(name));
      const addressOf = (number: number): string => href('/log', { days, [name]: number });
      return { shown: paged.shown, pager: pager(paged, addressOf) };
    };
    // A lead's command may have an operator's id.
    const byId = new Map(
      log.commands.flatMap((each) => (mayRole('operator', each.command) ? [[each.id, each]] : [])),
    );
    const withCommands = archives.map((each) => ({ ...each, by: byId.get(each.command ?? '') }));
    const commands = page('commands', log.commands);
    const discarded = page(
      'discarded',
      withCommands.filter(({ what }) => what === 'discarded'),
    );
    const edited = page(
      'edited',
      withCommands.filter(({ what }) => what === 'edited'),
    );
    const content: View = [
      {
        action: '/log',
        isSearch: true,
        buttons: [{ text: 'Show' }],
        fields: [{ field: 'days', label: 'Days back', value: days }],
      },
      section('What was done', ...logNotes(log), commandTable(commands.shown), ...commands.pager),
      section(
        'Discarded letters',
        table(
          'Discarded letters',
          discarded.shown,
          {
            ...archiveColumns,
            Restore: ({ address }) => ({
              action: '/restore',
              hidden: { address },
              buttons: [{ text: 'Restore' }],
            }),
          },
          { empty: 'No letter was discarded.' },
        ),
        ...discarded.pager,
      ),
      section(
        'Edited letters',
        text('What edited letters were before. The trace of each names the file of its original.'),
        table(
          'Edited letters',
          edited.shown,
          {
            ...archiveColumns,
            Letters: ({ by }) => letterLinks([...(by?.did ?? [])]),
            Address: ({ address, files }) => ({ text: files > 1 ? `${address}…` : address, code: true }),
          },
          { empty: 'No letter was edited.' },
        ),
        ...edited.pager,
      ),
    ];
    return html`${htmlOf(services, content)}${services.readOnly ? '' : offered(services, '/import', importForm)}`;
  });

  addAction(services, '/restore', async (form) => {
    const address = form.get('address') ?? '';
    const input = objectInput(address, target);
    const folder = `s3://${await target.bucket()}/discarded/`;
    const isArchive = address.startsWith(folder) && address !== folder && !address.includes('/../');
    if (input === undefined || !isArchive)
      throw new RefusedError('Only files under discarded/ in the bucket of this deployment can be restored.');
    return beginImport(services, input, 'Restore');
  });
};

const importForm = html`<section><h2>Letters of a file</h2><form method="post" action="/import" enctype="multipart/form-data">
<label>A file of an export or an archive <input type="file" name="file" required accept=".jsonl"></label> <button>Check</button></form></section>`;

/** One row a command; `by`: its entry in the audit log, if that was read. */
const archiveColumns: Columns<Archive & { by: AuditedCommand | undefined }> = {
  When: ({ at }) => timeText(at),
  Who: ({ by }) => by?.who,
  Why: ({ by }) => by?.why,
  Letters: ({ by }) => by?.did.size,
  Address: ({ address }) => ({ text: address, code: true }),
};

const letterLinks = (ids: readonly string[]) => {
  const more = ids.length > 3 ? [{ text: `and ${numberOf(ids.length - 3)} more` }] : [];
  return [...ids.slice(0, 3).map(traceLink), ...more];
};

const commandTable = (commands: readonly AuditedCommand[]): Block =>
  table(
    'What was done',
    commands,
    {
      When: ({ at }) => timeText(at),
      Who: ({ who }) => who,
      What: ({ command }) => command,
      'To what': aboutText,
      Why: ({ why }) => why,
      Counts: countsText,
      Letters: ({ meant, did }) => letterLinks([...meant.union(did)]),
    },
    { empty: 'Nothing was done.' },
  );
