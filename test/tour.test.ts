import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { expect, test } from 'vitest';
import { sectionOf } from './documents.ts';
import { localOffice } from './lib/show/cli/local-office.ts';
import { typed } from './lib/show/cli/typed.ts';
import { example } from './local/examples.ts';

/** The README's tour: what it says is typed here as it stands, and what it shows must be printed. */
const tour = sectionOf('README.md', '## A tour in five minutes');
const blocks = [...tour.matchAll(/^```(sh|text)\n(.*?)^```$/gms)].map(([, kind, text = '']) => ({
  kind,
  text,
}));
const lines = blocks.flatMap(({ kind, text }) => (kind === 'sh' ? text.trim().split(/\n(?! )/) : []));
const [shown] = blocks.flatMap(({ kind, text }) => (kind === 'text' ? [text] : []));

const office = localOffice({ inProcess: ['enrollment-create', 'grade-push'] });

/** Until the functions are done with what lies on their queues, as somebody would wait who watches the log. */
const settled = () =>
  expect
    .poll(async () => {
      const { sqs, description } = office.stack();
      const counts = ['enrollment-create', 'grade-push'].map(async (name) => {
        const { Attributes = {} } = await sqs.send(
          new GetQueueAttributesCommand({
            QueueUrl: description.queues[name],
            AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
          }),
        );
        return Object.values(Attributes).map(Number);
      });
      return (await Promise.all(counts)).flat().reduce((sum, each) => sum + each, 0);
    })
    .toBe(0);

const controlled = async (line: string) => {
  const [, method, path, body] =
    /^curl -X (\w+) \$PLATFORM(\/_local\/\w+)(?: -d '([^']+)')?$/.exec(line) ?? [];
  if (method === undefined) throw new Error(`The tour has a line that this test does not know: ${line}`);
  const answer = await fetch(`${office.stack().description.platform}${path}`, { method, body: body ?? null });
  expect(answer.ok, line).toBe(true);
};

test('whoever follows the tour sees what it shows, and the grade is on the platform', async () => {
  const [start, ...others] = lines;
  expect(start).toBe('npm run local');
  const said: { command: string; status: number; out: string }[] = [];
  for (const line of others) {
    if (line === `PLATFORM=$(node -p "require('./.local/stack.json').platform")`) continue;
    const [, command] = /^npx sis-relay (.*) --local\b/.exec(line) ?? [];
    if (command === undefined) {
      await controlled(line);
      continue;
    }
    const rest = line.slice(`npx sis-relay ${command} --local`.length);
    const { status, out, err } = await typed(`${command} --stack ${office.file}${rest}`, { answers: ['y'] });
    said.push({ command: command.split(' ').slice(0, 2).join(' '), status, out: out || err });
    await settled();
  }
  expect(said.map(({ command, status }) => `${command}: ${status}`)).toEqual([
    'publish events/enrollment-create.json: 0',
    'publish events/grade-push.json: 0',
    'letters groups: 0',
    'letters replay: 0',
    // There is nothing left to do.
    'letters groups: 1',
  ]);
  const [, , groups, , afterwards] = said;
  // Whoever follows it has started the command by npx.
  const byNpx = groups?.out.replaceAll(': sis-relay ', ': npx sis-relay ');
  expect(byNpx?.replace(/\s--stack\s+\S+/g, ' --local')).toBe(shown);
  expect(afterwards?.out).toContain('there are no dead letters');
  const { gradeValues, enrollments } = await office.controls().state();
  expect(gradeValues).toContainEqual(expect.objectContaining({ userId: 301, pointsNumerator: 8.5 }));
  const { orgUnitId, userId, roleId } = JSON.parse(await example('enrollment-create')).data;
  expect(enrollments).toContainEqual(expect.objectContaining({ orgUnitId, userId, roleId }));
});
