import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableOf, writePart } from '../../documents.ts';
import { type Packaged, packageProject } from '../packaged.ts';
import { callsOfType, ownCalls } from './deploy-calls.ts';

/** What who deploys a stage may do, by the types of resources that its template has. */
export const rightsTable = ({ Resources }: Packaged['template']): string => {
  const types = [...new Set(Object.values(Resources).map(({ Type }) => Type))].sort();
  const rows = [
    ['the stack', actionsText(ownCalls.stack)],
    ['the bucket with the code', actionsText([...ownCalls.codeBucket, ...ownCalls.code])],
    ['the account', actionsText(ownCalls.account)],
    ...types.map((type) => [`\`${type}\``, actionsText(callsOfType[type] ?? [])]),
  ];
  return `\n${tableOf(['for', 'actions'], rows)}\n`;
};

/** `s3: CreateBucket, DeleteBucket`. */
const actionsText = (actions: readonly string[]): string =>
  [...Map.groupBy(actions, (action) => action.split(':')[0] ?? '')]
    .map(([service, each]) => `\`${service}\`: ${each.map((action) => action.split(':')[1]).join(', ')}`)
    .join('; ');

/** `npm run generate` writes the table anew. */
export const command = async (): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'sis-relay-rights-'));
  try {
    const { template } = await packageProject(folder, { code: false });
    writePart('deploy-rights', rightsTable(template));
  } finally {
    await rm(folder, { recursive: true });
  }
};
