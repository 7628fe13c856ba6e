import { startLedgerTable } from '../local/ledger-table.ts';
import { answerParent } from './processes.ts';

let started: Promise<{ url: string }> | undefined;

answerParent(async ({ table }: { table: string }) => {
  started ??= startLedgerTable(table);
  return { url: (await started).url };
});
