import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { documentOf, writePart } from '../documents.ts';
import { type Deployment, deploy, type Properties } from './cloudformation.ts';
import { packageProject } from './packaged.ts';

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
  return found.replace(/ \(.*\)$/, '');
};

const mailsOf = ({ AlarmActions, InsufficientDataActions, Metrics }: Properties): string => {
  if (AlarmActions ?? InsufficientDataActions) return 'yes';
  return Metrics ? 'by `Waiting`' : 'no';
};

/** What the runbook says of each alarm. */
export const alarmsTable = (deployment: Deployment): string => {
  const rows = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm']
    .flatMap(deployment.ofType)
    .map(({ id, AlarmDescription, ...alarm }) => {
      const [text, section] = AlarmDescription.split(' Runbook: lib/cli/README.md#');
      return [`\`${id}\``, text, mailsOf(alarm), `[${titleOf(section)}](#${section})`];
    });
  const lines = [['alarm', 'what it says', 'mail', 'what to do'], ['---', '---', '---', '---'], ...rows];
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
