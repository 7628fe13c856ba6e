import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { alarmRows, compositeRows, type FunctionNames } from '../../template/alarms.ts';
import { documentOf, writePart } from '../documents.ts';
import { type Deployment, deploy } from './cloudformation.ts';
import { packageProject } from './packaged.ts';

/** The functions of a packaged stage, as alarms watch them. */
const namesIn = (deployment: Deployment): FunctionNames => {
  const functions = deployment.ofType('AWS::Lambda::Function');
  const nameOf = (address: string): string => address.replace(/^.*sis-relay-[^-]+-/, '');
  return {
    all: functions.map(({ FunctionName }) => nameOf(FunctionName)),
    queued: deployment
      .ofType('AWS::Lambda::EventSourceMapping')
      .map(({ EventSourceArn }) => nameOf(EventSourceArn)),
    durable: functions.flatMap(({ FunctionName, DurableConfig }) =>
      DurableConfig ? [nameOf(FunctionName)] : [],
    ),
  };
};

/** The runbook's heading that has this anchor. */
const titleOf = (anchor: string): string => {
  const headings = [...documentOf('lib/cli/README.md').matchAll(/^## (.*)$/gm)].map(
    ([, title = '']) => title,
  );
  const found = headings.find(
    (title) =>
      title
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replaceAll(' ', '-') === anchor,
  );
  if (found === undefined) throw new Error(`The runbook has no section #${anchor}`);
  return found;
};

/** What the runbook says of each alarm. */
export const alarmsTable = (deployment: Deployment): string => {
  const rows = alarmRows('prod', namesIn(deployment));
  const parts = rows.filter(({ isPart }) => isPart).map(({ id }) => id);
  const mails = ({ id, isPart }: { id: string; isPart?: boolean }): string =>
    isPart ? 'by `Waiting`' : id === 'Outage' ? 'no' : 'yes';
  const cells = [...rows, ...compositeRows(parts)].map((row) => [
    `\`${row.id}\``,
    row.text,
    mails(row),
    `[${titleOf(row.section).replace(/ \(.*\)$/, '')}](#${row.section})`,
  ]);
  const lines = [['alarm', 'what it says', 'mail', 'what to do'], ['---', '---', '---', '---'], ...cells];
  return `\n${lines.map((each) => `| ${each.join(' | ')} |\n`).join('')}\n`;
};

/** `npm run generate` writes the table anew. */
export const command = async (): Promise<void> => {
  const project = await mkdtemp(join(tmpdir(), 'sis-relay-alarms-'));
  try {
    const { template } = await packageProject(project, { code: false });
    writePart('alarms', alarmsTable(deploy(template)));
  } finally {
    await rm(project, { recursive: true });
  }
};
